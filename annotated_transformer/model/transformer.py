"""The whole model, figure 1 of the paper: from token ids to next-token logits."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from typing_extensions import TypeIs

from annotated_transformer.config import TransformerConfig
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.checks import refuses
from annotated_transformer.model.decoder import Decoder
from annotated_transformer.model.embeddings import TokenEmbedding
from annotated_transformer.model.encoder import Encoder
from annotated_transformer.model.id_checks import (
    unfit_batch,
    unmasked_source,
    unmasked_target,
)
from annotated_transformer.model.initialization import initialize
from annotated_transformer.model.masks import Mask, decoder_mask, padding_mask
from annotated_transformer.model.parts import PaperParts
from annotated_transformer.model.plain import unwrap


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
        parts = PaperParts(config)
        self.positions = parts.positions()
        self.dropout = nn.Dropout(config.dropout)
        layers = range(config.num_layers)
        self.encoder = Encoder(
            (parts.encoder_layer() for _ in layers), parts.final_norm()
        )
        self.decoder = Decoder(
            (parts.decoder_layer() for _ in layers), parts.final_norm()
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


def is_transformer(model: nn.Module) -> TypeIs[Transformer]:
    """Return whether the model is a `Transformer`, which `torch.compile` may have wrapped."""
    return isinstance(unwrap(model), Transformer)
