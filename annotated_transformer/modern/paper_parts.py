"""The parts of a layer, each made by a method that a subclass replaces: 2017's here."""

from torch import nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.encoder import EncoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import AddNorm
from annotated_transformer.model.transformer import _Parts


@refuses_other_kinds
class PaperParts:
    """The parts that the encoder of a `Transformer` has for the same config."""

    def __init__(self, config: TransformerConfig) -> None:
        """Take the widths, and the kinds of attention, norm, activation and positions."""
        self.config, self._paper = config, _Parts(config)

    def layer(self) -> EncoderLayer:
        """Return one layer, with new weights."""
        return EncoderLayer(self.attention(), self.feed_forward(), self.add_norm(), self.add_norm())

    def attention(self) -> MultiHeadAttention:
        """Return the self-attention of a layer."""
        return self._paper.attention("encoder")

    def feed_forward(self) -> FeedForward:
        """Return the feed-forward network of a layer."""
        return self._paper.feed_forward()

    def add_norm(self) -> AddNorm:
        """Return the Add & Norm of a sub-layer."""
        return self._paper.add_norm()

    def final_norm(self) -> nn.Module | None:
        """Return the norm after the last layer, if there is one."""
        return self._paper.final_norm()

    def positions(self) -> nn.Module:
        """Return what adds positions to the embedded tokens."""
        return self._paper.positions()
