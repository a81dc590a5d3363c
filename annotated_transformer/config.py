"""The shape of a Transformer, as varied in table 3 of the paper."""

from dataclasses import dataclass, fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from annotated_transformer.registry import part_names
from annotated_transformer.whole_numbers import is_positive_whole, store_whole_numbers

LARGEST_SIZE = 2**31
MOST_WEIGHTS = 10**11  # 400 GB in float32; 500 times as many as the paper's largest model


def refuse_sizes(**sizes: Any) -> None:
    """Raise ValueError if a size is not a positive whole number, or too large."""
    for name, size in sizes.items():
        if not is_positive_whole(size):
            raise ValueError(f"{name}={size!r}; choose a positive whole number")
        if int(size) >= LARGEST_SIZE:
            raise ValueError(f"{name}={size!r} is too large; choose a number below {LARGEST_SIZE}")


def refuse_uneven_heads(d_model: int, num_heads: int, d_k: int | None, d_v: int | None) -> None:
    """Raise ValueError if there is no head, or its width is not given and not a whole number."""
    if num_heads < 1 or (None in (d_k, d_v) and d_model % num_heads != 0):
        choices = [heads for heads in range(1, d_model + 1) if d_model % heads == 0]
        raise ValueError(
            f"d_model={d_model} does not split into num_heads={num_heads} equal heads; choose num_heads from "
            f"{choices}, or give both d_k and d_v"
        )


def refuse_odd_width(d_model: int) -> None:
    """Raise ValueError if `d_model` is odd: sines and cosines come in pairs."""
    if d_model % 2 != 0:
        raise ValueError(
            f"d_model={d_model} is odd, but sinusoids come in pairs; make it even, or choose learned "
            f"positions"
        )


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """What the configs of our models share: `TransformerConfig` describes the fields.

    The choices of a field are those of its type or, if that is `str`, the names in the registry.
    """

    vocab_size: int = 37_000
    max_length: int = 1024  # the paper has no limit: sinusoids are defined for every position
    num_layers: int = 6
    d_model: int = 512
    d_ff: int = 2048
    num_heads: int = 8
    d_k: int | None = None
    d_v: int | None = None
    dropout: float = 0.1
    norm: str = "post"
    final_norm: bool | None = None
    activation: str = "relu"
    positions: str = "sinusoidal"
    attention: str = "scaled_dot_product"
    attention_bias: bool = False
    output_bias: bool = False
    tied_output: bool = True
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2

    def __post_init__(self) -> None:
        """Refuse a shape that cannot be built."""
        store_whole_numbers(self)
        names = "vocab_size max_length num_layers d_model d_ff num_heads".split()
        names += [name for name in ("d_k", "d_v") if getattr(self, name) is not None]
        refuse_sizes(**{name: getattr(self, name) for name in names})
        if not isinstance(self.dropout, (int, float)) or not 0 <= self.dropout < 1:
            raise ValueError(f"dropout={self.dropout!r} is not in [0, 1); the paper's base model has 0.1")
        for field in fields(self):
            value, is_literal = getattr(self, field.name), get_origin(field.type) is Literal
            if field.type is bool and not isinstance(value, bool):
                raise ValueError(f"{field.name}={value!r}; choose True or False")
            choices = list(get_args(field.type)) if is_literal else part_names(field.name)
            if choices and (type(value), value) not in [(type(one), one) for one in choices]:
                is_attention = field.name == "attention"
                or_register = ", or give your own that name by register_attention" * is_attention
                raise ValueError(f"{field.name}={value!r}; choose from {choices}{or_register}")
        if self._weights() > MOST_WEIGHTS:
            raise ValueError(
                f"a model of this shape has about {self._weights():.0e} weights, more than "
                f"{MOST_WEIGHTS:.0e}; make vocab_size={self.vocab_size}, max_length={self.max_length}, "
                f"num_layers={self.num_layers}, d_model={self.d_model} or d_ff={self.d_ff} smaller"
            )
        refuse_uneven_heads(self.d_model, self.num_heads, self.d_k, self.d_v)
        if type(self.final_norm) not in (bool, NoneType):
            raise ValueError(f"final_norm={self.final_norm!r}; choose True, False, or None")
        special = {"pad_id": self.pad_id, "bos_id": self.bos_id, "eos_id": self.eos_id}
        if len(set(special.values())) < len(special) or not all(
            type(id_) is int and 0 <= id_ < self.vocab_size for id_ in special.values()
        ):
            raise ValueError(
                f"{special} are not three different ids below vocab_size={self.vocab_size!r}; "
                "choose other ids"
            )

    def _weights(self) -> int:
        """Count the weights of the matrices: three attentions and two networks per pair of layers."""
        split = self.d_model // self.num_heads
        d_k, d_v = self.d_k or split, self.d_v or split
        of_layers = 3 * 2 * self.num_heads * (d_k + d_v) + 2 * 2 * self.d_ff
        rows = self.vocab_size * (1 if self.tied_output else 2) + self.max_length
        return self.d_model * (rows + self.num_layers * of_layers)


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(ModelConfig):
    """The shape of a Transformer; the defaults are the paper's base model (table 3).

    Training settings (label smoothing, warm-up) are in `TrainingConfig`: they change no shape. The
    command `train` has an option for each field but the ids, whose help is the first sentence below.

    Attributes:
        vocab_size: Size of the vocabulary, which source and target share, V.
        max_length: Number of positions of the positional encoding, in tokens.
        num_layers: Number of encoder layers, and of decoder layers, N.
        d_model: Features of a token between layers.
        d_ff: Features inside the feed-forward networks.
        num_heads: Number of attention heads in each layer, h.
        d_k: Features of a query and a key in one head; `None` means d_model / num_heads.
        d_v: Features of a value in one head; `None` means d_model / num_heads.
        dropout: Dropout probability on sub-layer outputs and embedding sums, P_drop.
        norm: Where layers are normalized: `"post"`, after the residual sum, as in the paper; `"pre"`,
            before the sub-layer.
        final_norm: Normalize the output of encoder and decoder once more; `None` means only with
            `norm="pre"`. `nn.Transformer` always does.
        activation: Activation of the feed-forward networks; `"relu"` in the paper. `"swish"`, also
            called SiLU, is that of many models from Marian.
        positions: Positional encoding: `"sinusoidal"`, as in the base model, or `"learned"` (table 3,
            row E).
        attention: How attention is computed: `"scaled_dot_product"`, by our module, whose weights can
            be observed; `"fused"`, by PyTorch's kernel. A name from `register_attention` means yours.
        attention_bias: Add biases to the attention projections; in the paper they have none.
        output_bias: Add a learned bias to the logit of each token; in the paper they have none.
        tied_output: Compute the logits by the matrix of the embedding, as in the paper. Otherwise, they
            have a matrix of their own.
        pad_id: Id of padding after the shorter sentences of a batch.
        bos_id: Id at the beginning of every target.
        eos_id: Id at the end of every sentence.
    """

    def __post_init__(self) -> None:
        """Refuse a shape that cannot be built."""
        super().__post_init__()
        if self.positions == "sinusoidal":
            refuse_odd_width(self.d_model)

    @property
    def has_final_norm(self) -> bool:
        """Whether encoder and decoder end with a norm."""
        return self.norm == "pre" if self.final_norm is None else self.final_norm


BASE = TransformerConfig()
"""Table 3, base: 63.05 million parameters at V = 37,000."""

BIG = TransformerConfig(d_model=1024, d_ff=4096, num_heads=16, dropout=0.3)
"""Table 3, big: 214.17 million parameters at V = 37,000."""

TINY = TransformerConfig(
    vocab_size=10_000, max_length=256, num_layers=4, d_model=128, d_ff=256, num_heads=4, dropout=0.3
)
"""Not in the paper: small enough to learn to translate short sentences on two CPU cores."""
