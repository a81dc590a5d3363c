"""The parts of a layer, each made by a method that a subclass replaces: 2017's here."""

import warnings

import torch
from torch import nn

from annotated_transformer.config import ModelConfig, TransformerConfig
from annotated_transformer.model.decoder import DecoderLayer
from annotated_transformer.model.encoder import EncoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.masks import causal_mask
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import AddNorm, LayerNorm
from annotated_transformer.registry import find_part, registered_attentions


class PaperParts:
    """The parts of a `Transformer`: the only place that turns a config's words into modules."""

    def __init__(self, config: ModelConfig) -> None:
        """Take a `TransformerConfig`."""
        if not isinstance(config, TransformerConfig):
            raise TypeError(
                f"config is a {type(config).__name__}, and PaperParts are those of a TransformerConfig; give "
                f"one, or build a ModernModel of a ModernConfig"
            )
        self.config = config
        if config.attention == "fused":
            _warn_of_edited_attention()

    def encoder_layer(self) -> EncoderLayer:
        """Return a layer of an encoder, with new weights."""
        add_norms = (self.add_norm() for _ in range(2))
        return EncoderLayer(self.attention(), self.feed_forward(), *add_norms)

    def decoder_layer(self) -> DecoderLayer:
        """Return a layer of a decoder, with new weights."""
        add_norms = (self.add_norm() for _ in range(3))
        masked, cross = self.attention("decoder"), self.attention("cross")
        return DecoderLayer(masked, cross, self.feed_forward(), *add_norms)

    def attention(self, place: str = "encoder") -> MultiHeadAttention:
        """Return an attention for its place: "encoder", "decoder", or "cross"."""
        c = self.config
        if (make := registered_attentions().get(c.attention)) is not None:
            return make(c, place)
        return MultiHeadAttention(
            c.d_model,
            c.num_heads,
            d_k=c.d_k,
            d_v=c.d_v,
            attention=find_part("attention", c.attention)(),
            bias=c.attention_bias,
        )

    def feed_forward(self) -> FeedForward:
        """Return the feed-forward network of a layer."""
        activation = find_part("activation", self.config.activation)()
        return FeedForward(self.config.d_model, self.config.d_ff, activation)

    def add_norm(self) -> AddNorm:
        """Return the Add & Norm of a sub-layer."""
        add_norm: type[AddNorm] = find_part("norm", self.config.norm)
        return add_norm(self.config.d_model, self.config.dropout)

    def final_norm(self) -> nn.Module | None:
        """Return the norm after the last layer, if there is one."""
        return LayerNorm(self.config.d_model) if self.config.has_final_norm else None

    def positions(self) -> nn.Module:
        """Return what adds positions to the embedded tokens."""
        positions: type[nn.Module] = find_part("positions", self.config.positions)
        return positions(self.config.d_model, self.config.max_length)


def _warn_of_edited_attention() -> None:
    """Warn if the formula of `ScaledDotProductAttention` was edited: the kernel has its own."""
    numbers = torch.arange(3 * 2 * 5 * 7, dtype=torch.float64, device="cpu").sin()
    query, key, value = numbers.view(3, 2, 5, 7)
    mask = causal_mask(5, query.device)
    ours, kernel = (
        find_part("attention", name)()(query, key, value, mask)
        for name in ("scaled_dot_product", "fused")
    )
    if not torch.allclose(ours, kernel, rtol=0, atol=1e-9):
        warnings.warn(
            "attention='fused' computes what PyTorch's kernel does, and not the formula of "
            "ScaledDotProductAttention, which was edited; leave it out to compute with your formula",
            stacklevel=1,  # one line, however many models are built
        )
