"""The shape of a Transformer, as varied in table 3 of the paper."""

from dataclasses import dataclass, fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from annotated_transformer.registry import registered_attentions
from annotated_transformer.whole_numbers import is_positive_whole, store_whole_numbers

Attention = Literal["scaled_dot_product", "fused"]
LARGEST_SIZE = 2**31
MOST_WEIGHTS = 10**11  # 400 GB in float32; 500 times as many as the paper's largest model


def refuse_sizes(**sizes: Any) -> None:
    """Raise ValueError if a size is not a positive whole number, or too large."""
    for name, size in sizes.items():
        if not is_positive_whole(size):
            raise ValueError(f"{name}={size!r}; choose a positive whole number")
        if int(size) >= LARGEST_SIZE:
            raise ValueError(f"{name}={size!r} is too large; choose a number below {LARGEST_SIZE}")


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
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

    vocab_size: int = 37_000
    max_length: int = 1024  # the paper has no limit: sinusoids are defined for every position
    num_layers: int = 6
    d_model: int = 512
    d_ff: int = 2048
    num_heads: int = 8
    d_k: int | None = None
    d_v: int | None = None
    dropout: float = 0.1
    norm: Literal["post", "pre"] = "post"
    final_norm: bool | None = None
    activation: Literal["relu", "gelu", "swish"] = "relu"
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    attention: Attention | str = "scaled_dot_product"
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
            value, choices = getattr(self, field.name), get_args(field.type)
            if get_origin(field.type) is Literal and value not in choices:
                raise ValueError(f"{field.name}={value!r}; choose from {list(choices)}")
        attentions = [*get_args(Attention), *registered_attentions()]
        if self.attention not in attentions:
            raise ValueError(
                f"attention={self.attention!r}; choose from {attentions}, or give your own that name by "
                f"register_attention"
            )
        if None in (self.d_k, self.d_v) and self.d_model % self.num_heads != 0:
            raise ValueError(
                f"d_model={self.d_model} does not split into num_heads={self.num_heads} equal heads; "
                f"change one of them, or give both d_k and d_v"
            )
        if self.positions == "sinusoidal" and self.d_model % 2 != 0:
            raise ValueError(
                f"d_model={self.d_model!r} is odd, but sinusoids come in pairs; make it even, "
                "or choose positions='learned'"
            )
        if self._weights() > MOST_WEIGHTS:
            raise ValueError(
                f"a model of this shape has about {self._weights():.0e} weights, more than "
                f"{MOST_WEIGHTS:.0e}; make vocab_size={self.vocab_size}, max_length={self.max_length}, "
                f"num_layers={self.num_layers}, d_model={self.d_model} or d_ff={self.d_ff} smaller"
            )
        for name in ("attention_bias", "output_bias", "tied_output"):
            if not isinstance(value := getattr(self, name), bool):
                raise ValueError(f"{name}={value!r}; choose True or False")
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

    @property
    def has_final_norm(self) -> bool:
        """Whether encoder and decoder end with a norm."""
        return self.norm == "pre" if self.final_norm is None else self.final_norm

    def _weights(self) -> int:
        """Count the weights of the matrices: three attentions and two networks per pair of layers."""
        split = self.d_model // self.num_heads
        d_k, d_v = self.d_k or split, self.d_v or split
        of_layers = 3 * 2 * self.num_heads * (d_k + d_v) + 2 * 2 * self.d_ff
        rows = self.vocab_size * (1 if self.tied_output else 2) + self.max_length
        return self.d_model * (rows + self.num_layers * of_layers)


BASE = TransformerConfig()
"""Table 3, base: 63.05 million parameters at V = 37,000."""

BIG = TransformerConfig(d_model=1024, d_ff=4096, num_heads=16, dropout=0.3)
"""Table 3, big: 214.17 million parameters at V = 37,000."""

TINY = TransformerConfig(
    vocab_size=10_000, max_length=256, num_layers=4, d_model=128, d_ff=256, num_heads=4, dropout=0.3
)
"""Not in the paper: small enough to learn to translate short sentences on two CPU cores."""
