"""The whole model, figure 1 of the paper: from token ids to next-token logits."""

import warnings
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.attention import (
    FusedAttention,
    ScaledDotProductAttention,
)
from annotated_transformer.model.checks import refuses
from annotated_transformer.model.decoder import Decoder, DecoderLayer
from annotated_transformer.model.embeddings import TokenEmbedding
from annotated_transformer.model.encoder import Encoder, EncoderLayer
from annotated_transformer.model.feed_forward import ACTIVATIONS, FeedForward
from annotated_transformer.model.id_checks import (
    unfit_batch,
    unmasked_source,
    unmasked_target,
)
from annotated_transformer.model.initialization import initialize
from annotated_transformer.model.masks import (
    Mask,
    causal_mask,
    decoder_mask,
    padding_mask,
)
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import (
    AddNorm,
    LayerNorm,
    PostNorm,
    PreNorm,
)
from annotated_transformer.model.positional_encoding import (
    LearnedPositions,
    SinusoidalPositions,
    recompute_table,
    without_values,
)
from annotated_transformer.registry import registered_attentions

ATTENTIONS = {"scaled_dot_product": ScaledDotProductAttention, "fused": FusedAttention}
ADD_NORMS = {"post": PostNorm, "pre": PreNorm}
POSITIONS = {"sinusoidal": SinusoidalPositions, "learned": LearnedPositions}


@refuses_other_kinds
class Transformer(nn.Module):
    r"""Compute the logits of the next token, given $y_{<t}$ and $x$.

    One matrix serves as source embedding, target embedding and output projection
    (section 3.4), unless `config.tied_output` is False.
    """

    def __init__(self, config: TransformerConfig) -> None:
        """Build what `config` describes, initialized from torch's global generator."""
        super().__init__()
        self.config = config
        sizes = config.vocab_size, config.d_model
        self.embedding = TokenEmbedding(*sizes)
        build = _Parts(config)
        self.positions = build.positions()
        self.dropout = nn.Dropout(config.dropout)
        layers = range(config.num_layers)
        self.encoder = Encoder(
            (build.encoder_layer() for _ in layers), build.final_norm()
        )
        self.decoder = Decoder(
            (build.decoder_layer() for _ in layers), build.final_norm()
        )
        self.output = None if config.tied_output else TokenEmbedding(*sizes)
        zeros = torch.zeros(config.vocab_size) if config.output_bias else None
        self.output_bias = None if zeros is None else nn.Parameter(zeros)
        initialize(self)

    def forward(
        self, src: Int[Tensor, "batch src_tokens"], tgt: Int[Tensor, "batch tgt_tokens"]
    ) -> Float[Tensor, "batch tgt_tokens vocab"]:
        """Return the logits of the token that follows each position of `tgt`.

        `tgt` begins with `bos_id`: it is the expected output shifted right by one. The
        masks are made from `pad_id`.

        Raises:
            ValueError: If they do not have two dimensions or are not on the model's
                device, the numbers of sources and targets differ, a source is empty, or
                padding precedes a token.
        """
        return self.logits(self.hidden(src, tgt))

    @refuses(unfit_batch)
    def hidden(
        self, src: Int[Tensor, "batch src_tokens"], tgt: Int[Tensor, "batch tgt_tokens"]
    ) -> Float[Tensor, "batch tgt_tokens d_model"]:
        """Return the decoder's output, from which `forward` computes the logits."""
        src_mask = padding_mask(src, self.config.pad_id)
        memory = self.encode(src, src_mask)
        tgt_mask = decoder_mask(tgt, self.config.pad_id)
        return self.decode(tgt, memory, tgt_mask, src_mask)

    @refuses(unmasked_source)
    def encode(
        self,
        src: Int[Tensor, "batch src_tokens"],
        src_mask: Mask | None = None,
    ) -> Float[Tensor, "batch src_tokens d_model"]:
        """Return the memory: the encoder's output, to which the decoder attends.

        Without a mask, each token attends to all others.

        Raises:
            ValueError: If a source has padding, and there is no mask.
        """
        memory: Tensor = self.encoder(self.embed(src), src_mask)
        return memory

    @refuses(unmasked_target)
    def decode(
        self,
        tgt: Int[Tensor, "batch tgt_tokens"],
        memory: Float[Tensor, "batch src_tokens d_model"],
        tgt_mask: Mask | None = None,
        memory_mask: Mask | None = None,
    ) -> Float[Tensor, "batch tgt_tokens d_model"]:
        """Return the decoder's output, from which `logits` computes the logits.

        Without `tgt_mask`, each token attends to all others, later ones included. Without
        `memory_mask`, each attends to all of the memory: give it if a source has padding.

        Raises:
            ValueError: If a target has padding, and there is no mask for it.
        """
        hidden: Tensor = self.decoder(self.embed(tgt), memory, tgt_mask, memory_mask)
        return hidden

    def embed(
        self, ids: Int[Tensor, "batch tokens"], start: int = 0
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Return embeddings plus positions from `start` on, with dropout (5.4)."""
        embedded: Tensor = self.dropout(self.positions(self.embedding(ids), start))
        return embedded

    def logits(
        self, hidden: Float[Tensor, "batch tokens d_model"]
    ) -> Float[Tensor, "batch tokens vocab"]:
        """Return a logit for each token of the vocabulary, using `to_logits`."""
        logits = self.to_logits.logits(hidden)
        return logits if self.output_bias is None else logits + self.output_bias

    @property
    def to_logits(self) -> TokenEmbedding:
        """The module whose matrix gives the logits: `embedding`, unless `output` is one."""
        return self.embedding if self.output is None else self.output

    def _apply(
        self, fn: Callable[[Tensor], Tensor], recurse: bool = True
    ) -> "Transformer":
        built_on_meta = without_values(self.positions)
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call, unused-ignore]
        if built_on_meta:  # `to_empty` leaves what was in memory
            recompute_table(self.positions, self.embedding.weight)
        return self

    def _load_from_state_dict(
        self,
        state: dict[str, Tensor],
        prefix: str,
        metadata: dict[str, Any],
        *rest: Any,
    ) -> None:
        super()._load_from_state_dict(state, prefix, metadata, *rest)
        name = f"{prefix}embedding.weight"
        assigned = name in state and "assign_to_params_buffers" in metadata
        if assigned and without_values(self.positions):  # the table is not saved
            recompute_table(self.positions, state[name])


class _Parts:
    """Build a model's parts: the only place that maps config values to classes."""

    def __init__(self, config: TransformerConfig) -> None:
        self.config = config
        if config.attention == "fused":
            _warn_of_edited_attention()

    def positions(self) -> nn.Module:
        c = self.config
        if c.positions not in POSITIONS:
            raise ValueError(
                f"positions={c.positions!r} of a {type(c).__name__} is none of {list(POSITIONS)}; "
                f"give a TransformerConfig, or build what this describes, such as a ModernModel"
            )
        return POSITIONS[c.positions](c.d_model, c.max_length)

    def encoder_layer(self) -> EncoderLayer:
        attention = self.attention("encoder")
        return EncoderLayer(
            attention, self.feed_forward(), self.add_norm(), self.add_norm()
        )

    def decoder_layer(self) -> DecoderLayer:
        add_norms = (self.add_norm() for _ in range(3))
        own, cross = self.attention("decoder"), self.attention("cross")
        return DecoderLayer(own, cross, self.feed_forward(), *add_norms)

    def attention(self, place: str) -> MultiHeadAttention:
        c = self.config
        if (make := registered_attentions().get(c.attention)) is not None:
            return make(c, place)
        return MultiHeadAttention(
            c.d_model,
            c.num_heads,
            d_k=c.d_k,
            d_v=c.d_v,
            attention=ATTENTIONS[c.attention](),
            bias=c.attention_bias,
        )

    def feed_forward(self) -> FeedForward:
        return FeedForward(
            self.config.d_model, self.config.d_ff, ACTIVATIONS[self.config.activation]()
        )

    def add_norm(self) -> AddNorm:
        return ADD_NORMS[self.config.norm](self.config.d_model, self.config.dropout)

    def final_norm(self) -> LayerNorm | None:
        return LayerNorm(self.config.d_model) if self.config.has_final_norm else None


def _warn_of_edited_attention() -> None:
    """Warn if the formula of `ScaledDotProductAttention` was edited: the kernel has its own."""
    numbers = torch.arange(3 * 2 * 5 * 7, dtype=torch.float64, device="cpu").sin()
    query, key, value = numbers.view(3, 2, 5, 7)
    mask = causal_mask(5, query.device)
    kinds = ATTENTIONS["scaled_dot_product"](), ATTENTIONS["fused"]()
    ours, kernel = (attention(query, key, value, mask) for attention in kinds)
    if not torch.allclose(ours, kernel, rtol=0, atol=1e-9):
        warnings.warn(
            "attention='fused' computes what PyTorch's kernel does, and not the formula of "
            "ScaledDotProductAttention, which was edited; leave it out to compute with your formula",
            stacklevel=1,  # one line, however many models are built
        )
