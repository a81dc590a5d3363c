"""The parts of a layer, each made by a method that a subclass replaces: 2017's here."""

from torch import nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.encoder import EncoderLayer
from annotated_transformer.model.feed_forward import ACTIVATIONS, FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import AddNorm, LayerNorm
from annotated_transformer.model.transformer import ADD_NORMS, ATTENTIONS, POSITIONS


class PaperParts:
    """The parts that `Transformer` has for the same config."""

    def __init__(self, config: TransformerConfig) -> None:
        """Take the widths, and the kinds of attention, norm, activation and positions."""
        self.config = config

    def layer(self) -> EncoderLayer:
        """Return one layer, with new weights."""
        return EncoderLayer(self.attention(), self.feed_forward(), self.add_norm(), self.add_norm())

    def attention(self) -> MultiHeadAttention:
        """Return the self-attention of a layer."""
        c = self.config
        inner = ATTENTIONS[c.attention]()
        return MultiHeadAttention(
            c.d_model, c.num_heads, d_k=c.d_k, d_v=c.d_v, attention=inner, bias=c.attention_bias
        )

    def feed_forward(self) -> FeedForward:
        """Return the feed-forward network of a layer."""
        activation = ACTIVATIONS[self.config.activation]()
        return FeedForward(self.config.d_model, self.config.d_ff, activation)

    def add_norm(self) -> AddNorm:
        """Return the Add & Norm of a sub-layer."""
        return ADD_NORMS[self.config.norm](self.config.d_model, self.config.dropout)

    def final_norm(self) -> nn.Module | None:
        """Return the norm after the last layer, if there is one."""
        return LayerNorm(self.config.d_model) if self.config.norm == "pre" else None

    def positions(self) -> nn.Module:
        """Return what adds positions to the embedded tokens."""
        return POSITIONS[self.config.positions](self.config.d_model, self.config.max_length)
