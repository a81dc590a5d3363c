"""A small language model of today's make, which is described by its own config."""

from dataclasses import asdict, dataclass

from annotated_transformer.config import TransformerConfig
from annotated_transformer.modern.modern_parts import ModernParts
from annotated_transformer.modern.single_stack import DecoderOnly
from annotated_transformer.modern.swiglu import gated_width


@dataclass(frozen=True, kw_only=True)
class ModernConfig:
    """The shape of a `ModernModel`; the defaults make one that trains on toy tasks in a minute on one core.

    Attributes:
        vocab_size: Size of the vocabulary.
        max_length: Longest text to generate, in tokens; nothing in the model depends on it.
        num_layers: Number of layers.
        d_model: Features of a token between layers.
        d_ff: Units of each SwiGLU; `None` means 8/3 of `d_model`, rounded up to a multiple of 8.
        num_heads: Number of query heads in each layer.
        num_kv_heads: Number of heads of keys and values.
        rotary_base: Base of the rotary positions.
        dropout: Dropout probability on sub-layer outputs and embeddings.
        pad_id: Id of padding after the shorter texts of a batch.
        bos_id: Id at the beginning of every text.
        eos_id: Id at the end of every text.
    """

    vocab_size: int
    max_length: int = 256
    num_layers: int = 2
    d_model: int = 64
    d_ff: int | None = None
    num_heads: int = 4
    num_kv_heads: int = 2
    rotary_base: float = 10_000.0
    dropout: float = 0.0
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2

    def __post_init__(self) -> None:
        """Refuse what `TransformerConfig` refuses."""
        self.shape()

    def shape(self) -> TransformerConfig:
        """Return the config that the parts share with those of 2017."""
        own = ("num_kv_heads", "rotary_base")
        shared = {name: value for name, value in asdict(self).items() if name not in own}
        width = gated_width(4 * self.d_model, multiple_of=8) if self.d_ff is None else self.d_ff
        return TransformerConfig(**shared | {"d_ff": width})


class ModernModel(DecoderOnly):
    """A decoder-only model of `ModernParts`, which `train`, `save`, `load` and `sample` take."""

    config_type = ModernConfig

    def __init__(self, config: ModernConfig) -> None:
        """Build what the config describes, initialized from torch's global generator."""
        parts = ModernParts(config.shape(), num_kv_heads=config.num_kv_heads, base=config.rotary_base)
        super().__init__(config.shape(), parts)
        self.config = config
