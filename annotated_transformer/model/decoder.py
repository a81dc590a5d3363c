"""The decoder: section 3.1 of the paper, the right half of its figure 1."""

from collections.abc import Iterable
from typing import cast

from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.model.checks import refuse_distances
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.masks import Mask
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import AddNorm


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, feed-forward, each inside its Add & Norm."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        add_norm_1: AddNorm,
        add_norm_2: AddNorm,
        add_norm_3: AddNorm,
    ) -> None:
        """Take built parts, so that the caller chooses heads, widths, and norms."""
        refuse_distances(cross_attention)
        super().__init__()
        self.self_attention, self.cross_attention = self_attention, cross_attention
        self.feed_forward = feed_forward
        self.add_norm_1, self.add_norm_2 = add_norm_1, add_norm_2
        self.add_norm_3 = add_norm_3

    def forward(
        self,
        x: Float[Tensor, "batch tgt_tokens d_model"],
        memory: Float[Tensor, "batch src_tokens d_model"],
        tgt_mask: Mask | None = None,
        memory_mask: Mask | None = None,
    ) -> Float[Tensor, "batch tgt_tokens d_model"]:
        """Return every target token after it has read its own past, then the source.

        In cross-attention, the queries come from the self-attention sub-layer, and the
        keys and values from the memory.
        """
        x = self.add_norm_1(x, lambda x: self.self_attention(x, x, x, tgt_mask))
        x = self.add_norm_2(
            x, lambda x: self.cross_attention(x, memory, memory, memory_mask)
        )
        x = self.add_norm_3(x, self.feed_forward)
        return x


class Decoder(nn.Module):
    """A stack of decoder layers, all of which read the same memory."""

    def __init__(
        self, layers: Iterable[DecoderLayer], final_norm: nn.Module | None = None
    ) -> None:
        """Stack the layers; pre-norm ones need a `final_norm`, the paper's do not."""
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm or nn.Identity()

    def forward(
        self,
        x: Float[Tensor, "batch tgt_tokens d_model"],
        memory: Float[Tensor, "batch src_tokens d_model"],
        tgt_mask: Mask | None = None,
        memory_mask: Mask | None = None,
    ) -> Float[Tensor, "batch tgt_tokens d_model"]:
        """Pass the target's tokens through every layer in turn."""
        for layer in self.layers:
            x = layer(x, memory, tgt_mask, memory_mask)
        x = self.final_norm(x)
        return x


def decoder_layers(decoder: Decoder) -> list[DecoderLayer]:
    """Return the layers of a decoder, bottom up, typed as `DecoderLayer`."""
    return cast(list[DecoderLayer], list(decoder.layers))
