"""The encoder: section 3.1 of the paper, the left half of its figure 1."""

from collections.abc import Iterable

from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.masks import Mask
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import AddNorm


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each inside its Add & Norm."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        add_norm_1: AddNorm,
        add_norm_2: AddNorm,
    ) -> None:
        """Take built parts, so that the caller chooses heads, widths, and norms."""
        super().__init__()
        self.self_attention, self.feed_forward = self_attention, feed_forward
        self.add_norm_1, self.add_norm_2 = add_norm_1, add_norm_2

    def forward(
        self,
        x: Float[Tensor, "batch tokens d_model"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Return every token after it has read from the others, as `mask` allows."""
        x = self.add_norm_1(x, lambda x: self.self_attention(x, x, x, mask))
        x = self.add_norm_2(x, self.feed_forward)
        return x


class Encoder(nn.Module):
    """A stack of encoder layers: source in, the decoder's *memory* out."""

    def __init__(
        self, layers: Iterable[EncoderLayer], final_norm: nn.Module | None = None
    ) -> None:
        """Stack the layers; pre-norm ones need a `final_norm`, the paper's do not."""
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.final_norm = final_norm or nn.Identity()

    def forward(
        self,
        x: Float[Tensor, "batch tokens d_model"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Pass the tokens through every layer in turn."""
        for layer in self.layers:
            x = layer(x, mask)
        x = self.final_norm(x)
        return x
