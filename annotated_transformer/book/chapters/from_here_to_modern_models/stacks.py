"""Small decoder-only models that translate the toy language: 2017's, today's, and all steps in between."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from annotated_transformer.book.toy.fitting import fit
from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import AddNorm, LayerNorm, PreNorm
from annotated_transformer.model.parts import PaperParts
from annotated_transformer.modern.biases import remove_biases
from annotated_transformer.modern.decoder_only import DecoderOnly
from annotated_transformer.modern.grouped_query_attention import GroupedQueryAttention
from annotated_transformer.modern.language_model import next_token_loss
from annotated_transformer.modern.modern_parts import NoPositions
from annotated_transformer.modern.rms_norm import PreRMSNorm, RMSNorm
from annotated_transformer.modern.rotary import RotaryAttention, RotaryPositions
from annotated_transformer.modern.swiglu import SwiGLU
from annotated_transformer.text.batching import pad
from annotated_transformer.text.toy.grammar import ToyPair
from annotated_transformer.text.toy.pairs import WordVocabulary, toy_pairs
from annotated_transformer.training.schedule import BETAS

KV_HEADS = 2
HELD_OUT = 500


class PreNormParts(PaperParts):
    """2017's parts with the norm before each sub-layer, and one after the last layer."""

    def add_norm(self) -> AddNorm:
        """Return a pre-norm."""
        return PreNorm(self.config.d_model, self.config.dropout)

    def final_norm(self) -> nn.Module | None:
        """Return a LayerNorm."""
        return LayerNorm(self.config.d_model)


class RmsNormParts(PreNormParts):
    """And with RMSNorm."""

    def add_norm(self) -> AddNorm:
        """Return a pre-norm with an RMSNorm."""
        return PreRMSNorm(self.config.d_model, self.config.dropout)

    def final_norm(self) -> nn.Module | None:
        """Return an RMSNorm."""
        return RMSNorm(self.config.d_model)


class UnbiasedParts(RmsNormParts):
    """And without biases."""

    def feed_forward(self) -> FeedForward:
        """Return the paper's network without its two biases."""
        network = super().feed_forward()
        remove_biases(network)
        return network


class GatedParts(UnbiasedParts):
    """And with SwiGLU."""

    def feed_forward(self) -> FeedForward:
        """Return a gated network."""
        return SwiGLU(self.config.d_model, self.config.d_ff)


class RotaryParts(GatedParts):
    """And with rotary positions."""

    def attention(self, place: str = "encoder") -> MultiHeadAttention:
        """Return attention that turns queries and keys."""
        return MultiHeadAttention(self.config.d_model, self.config.num_heads, attention=self.rotary())

    def rotary(self) -> RotaryAttention:
        """Return what is inside a head."""
        return RotaryAttention(RotaryPositions(self.config.d_model // self.config.num_heads))

    def positions(self) -> nn.Module:
        """Return what adds nothing."""
        return NoPositions()


class GroupedParts(RotaryParts):
    """And with half as many heads of keys and values: the parts of `ModernParts`."""

    def attention(self, place: str = "encoder") -> MultiHeadAttention:
        """Return grouped-query attention that turns queries and keys."""
        c = self.config
        return GroupedQueryAttention(c.d_model, c.num_heads, KV_HEADS, attention=self.rotary())


LADDER: dict[str, type[PaperParts]] = {
    "2017": PaperParts,
    "pre-norm": PreNormParts,
    "RMSNorm": RmsNormParts,
    "no biases": UnbiasedParts,
    "SwiGLU": GatedParts,
    "rotary": RotaryParts,
    "grouped queries": GroupedParts,
}


class Texts(NamedTuple):
    """Sentences and their translations, each pair as one text; `counted` marks what is to be predicted."""

    ids: Int[Tensor, "batch tokens"]
    counted: Bool[Tensor, "batch tokens"]

    def batch(self, rows: Int[Tensor, " rows"]) -> "Texts":
        """Return some of the texts."""
        return Texts(self.ids[rows], self.counted[rows])


def texts_of(pairs: Sequence[ToyPair], vocabulary: WordVocabulary) -> Texts:
    """Return `<s> source </s> target </s>` for each pair."""
    encoded = [vocabulary.encode(pair) for pair in pairs]
    ids = pad([[target[0], *source, *target[1:]] for source, target in encoded])
    starts = torch.tensor([len(source) + 1 for source, _ in encoded])
    return Texts(ids, (torch.arange(ids.size(1)) >= starts[:, None]) & (ids != 0))


def translation_texts(count: int) -> tuple[Texts, Texts, WordVocabulary]:
    """Return texts for training, and `HELD_OUT` others, with their vocabulary."""
    pairs = toy_pairs(count + HELD_OUT, seed=22)
    vocabulary = WordVocabulary(text for pair in pairs for text in (pair.source, pair.target))
    return texts_of(pairs[HELD_OUT:], vocabulary), texts_of(pairs[:HELD_OUT], vocabulary), vocabulary


def build_stack(name: str, vocab_size: int, *, weights: int = 0, d_model: int = 64) -> DecoderOnly:
    """Return a model of the ladder, with networks as wide as makes it come closest to `weights` parameters.

    Without `weights`, the width is the paper's, four times d_model.
    """

    def sized(d_ff: int) -> DecoderOnly:
        config = TransformerConfig(
            vocab_size=vocab_size, max_length=64, num_layers=2, d_model=d_model, d_ff=d_ff,
            num_heads=4, dropout=0.0,
        )  # fmt: skip
        return DecoderOnly(config, LADDER[name](config))

    if not weights:
        return sized(4 * d_model)
    state = torch.get_rng_state()
    one, two = (count_parameters(sized(d_ff)) for d_ff in (1, 2))
    torch.set_rng_state(state)
    return sized(1 + round((weights - one) / (two - one)))


def count_parameters(model: nn.Module) -> int:
    """Return how many numbers are learned."""
    return sum(parameter.numel() for parameter in model.parameters())


def fit_translation(
    model: DecoderOnly,
    texts: Texts,
    *,
    updates: int,
    max_lr: float,
    seed: int,
    batch: int,
) -> list[float]:
    """Train on random batches, and return the loss of each update.

    The learning rate rises for a tenth of the updates, and then falls to 0.
    """
    rng = torch.Generator().manual_seed(seed)

    def draw_loss() -> Tensor:
        drawn = texts.batch(torch.randint(len(texts.ids), (batch,), generator=rng))
        longest = int((drawn.ids != 0).sum(dim=1).max())
        ids, counted = drawn.ids[:, :longest], drawn.counted[:, :longest]
        return next_token_loss(model, ids, counted)

    def lr(update: int) -> float:
        rise, fall = (update + 1) / (0.1 * updates), (1 - update / updates) / 0.9
        return max_lr * min(rise, fall)

    losses = fit(model, draw_loss, steps=updates, lr=lr, betas=BETAS)
    model.eval().requires_grad_(False)
    return losses


def share_translated(model: DecoderOnly, texts: Texts) -> float:
    """Return the share of sentences that greedy search would translate word for word as the reference.

    It does so if each token of the reference is the most likely one after those before it.
    """
    best = model(texts.ids[:, :-1]).argmax(dim=-1)
    right = (best == texts.ids[:, 1:]) | ~texts.counted[:, 1:]
    return right.all(dim=1).double().mean().item()
