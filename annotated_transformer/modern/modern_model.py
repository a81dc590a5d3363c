"""A small language model of today's make, which is described by its own config."""

from dataclasses import dataclass
from typing import Literal

from annotated_transformer.config import ModelConfig
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.modern.decoder_only import DecoderOnly
from annotated_transformer.modern.modern_parts import ModernParts
from annotated_transformer.modern.swiglu import gated_width


@refuses_other_kinds
@dataclass(frozen=True, kw_only=True)
class ModernConfig(ModelConfig):
    """The shape of a `ModernModel`; the defaults make a small one, for toy tasks on one core.

    The fields are those of `TransformerConfig`, and two more. Those with one choice say what `ModernParts`
    are.

    Attributes:
        d_ff: Units of each SwiGLU; the default is `gated_width` of four times the default `d_model`.
        num_kv_heads: Number of heads of keys and values.
        rotary_base: Base of the rotary positions.
    """

    max_length: int = 256
    num_layers: int = 2
    d_model: int = 64
    d_ff: int = gated_width(4 * 64, multiple_of=8)
    num_heads: int = 4
    dropout: float = 0.0
    num_kv_heads: int = 2
    rotary_base: float = 10_000.0
    norm: Literal["pre_rms"] = "pre_rms"
    activation: Literal["swiglu"] = "swiglu"
    positions: Literal["rotary"] = "rotary"
    final_norm: Literal[None, True] = None
    attention_bias: Literal[False] = False
    d_k: Literal[None] = None
    d_v: Literal[None] = None

    def __post_init__(self) -> None:
        """Refuse a shape that cannot be built."""
        super().__post_init__()
        self.parts()

    def parts(self) -> ModernParts:
        """Return the parts of the model."""
        return ModernParts(self, num_kv_heads=self.num_kv_heads, base=self.rotary_base)


@refuses_other_kinds
class ModernModel(DecoderOnly):
    """A decoder-only model of `ModernParts`, which `train`, `save`, `load` and `sample` take."""

    config_type = ModernConfig

    def __init__(self, config: ModernConfig) -> None:
        super().__init__(config, config.parts())
