"""The parts of a layer as in Llama (Touvron et al., 2023, arXiv:2302.13971), and many models since.

Grouped queries came with Llama 2 (2023, arXiv:2307.09288), at first in its larger models.
"""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.config import ModelConfig
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import AddNorm
from annotated_transformer.model.parts import PaperParts
from annotated_transformer.modern.grouped_query_attention import GroupedQueryAttention, refuse_unequal_groups
from annotated_transformer.modern.rms_norm import PreRMSNorm, RMSNorm
from annotated_transformer.modern.rotary import RotaryAttention, RotaryPositions
from annotated_transformer.modern.swiglu import SwiGLU
from annotated_transformer.registry import PARTS, find_part


@refuses_other_kinds
class ModernParts(PaperParts):
    """Pre-norm with RMSNorm, rotary positions, grouped queries and SwiGLU, all without biases.

    Of a `TransformerConfig`, `norm`, `activation`, `positions`, `attention_bias`, `d_k` and `d_v` are not
    used.
    """

    def __init__(
        self, config: ModelConfig, *, num_kv_heads: int | None = None, base: float = 10_000.0
    ) -> None:
        """Take the config, the number of heads of keys and values (all by default), and the rotary base."""
        self.config: Any = config
        if config.attention not in PARTS["attention"]:
            raise ValueError(
                f"attention={config.attention!r} was registered, and has its own queries, which ModernParts "
                f"could not rotate; choose from {list(PARTS['attention'])}"
            )
        self.num_kv_heads = config.num_heads if num_kv_heads is None else num_kv_heads
        self.base = base
        refuse_unequal_groups(config.num_heads, self.num_kv_heads)
        self._rotary()

    def attention(self, place: str = "encoder") -> MultiHeadAttention:
        """Return grouped-query attention with rotary positions."""
        c = self.config
        rotary = RotaryAttention(self._rotary(), find_part("attention", c.attention)())
        return GroupedQueryAttention(c.d_model, c.num_heads, self.num_kv_heads, attention=rotary)

    def feed_forward(self) -> FeedForward:
        """Return a SwiGLU; `gated_width` has the `d_ff` of as many parameters as before."""
        return SwiGLU(self.config.d_model, self.config.d_ff)

    def add_norm(self) -> AddNorm:
        """Return a pre-norm with an RMSNorm."""
        return PreRMSNorm(self.config.d_model, self.config.dropout)

    def final_norm(self) -> nn.Module:
        """Return the RMSNorm after the last layer."""
        return RMSNorm(self.config.d_model)

    def positions(self) -> nn.Module:
        """Return what adds nothing: the attention rotates."""
        return NoPositions()

    def _rotary(self) -> RotaryPositions:
        return RotaryPositions(self.config.d_model // self.config.num_heads, self.base)


class NoPositions(nn.Module):
    """Add nothing to the embedded tokens: in place of `SinusoidalPositions`.

    A decoder without any positions can still learn where a token is, perhaps by counting the tokens before
    it (Haviv et al., 2022, arXiv:2203.16634).
    """

    def forward(
        self, embedded: Float[Tensor, "batch tokens d_model"], start: int = 0
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Return the tokens as they are, wherever they start."""
        return embedded
