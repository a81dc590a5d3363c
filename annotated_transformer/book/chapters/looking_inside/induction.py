"""Attention-only models that continue repeated sequences, and how to see an induction head in their maps."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from annotated_transformer.book.toy.fitting import fit, rise_stay_fall
from annotated_transformer.inspection.observation import watching
from annotated_transformer.model.embeddings import TokenEmbedding
from annotated_transformer.model.initialization import initialize
from annotated_transformer.model.masks import causal_mask
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import LayerNorm, PreNorm
from annotated_transformer.model.positional_encoding import SinusoidalPositions
from annotated_transformer.training.schedule import BETAS

SYMBOLS = "ABCDEFGHIJKLMNOP"
TOKENS = 16


class Repetitions(NamedTuple):
    """Sequences that repeat their first `period` symbols, which are all different."""

    ids: Int[Tensor, "batch tokens"]
    period: Int[Tensor, "batch 1"]

    @property
    def predictable(self) -> Bool[Tensor, "batch labels"]:
        """Which of the symbols from the second on have occurred one period before."""
        return torch.arange(1, self.ids.size(1)) >= self.period


class AttentionOnly(nn.Module):
    """A decoder-only model without feed-forward networks: attention, residual sums and norms (pre-norm)."""

    def __init__(self, *, num_layers: int, num_heads: int = 1, d_model: int = 32) -> None:
        """Make a model of `SYMBOLS` for up to `TOKENS` tokens."""
        super().__init__()
        self.embedding = TokenEmbedding(len(SYMBOLS), d_model)
        self.positions = SinusoidalPositions(d_model, TOKENS)
        self.attentions = nn.ModuleList(MultiHeadAttention(d_model, num_heads) for _ in range(num_layers))
        self.add_norms = nn.ModuleList(PreNorm(d_model, dropout=0.0) for _ in range(num_layers))
        self.final_norm = LayerNorm(d_model)
        self.to_logits = nn.Linear(d_model, len(SYMBOLS))

    def forward(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens symbols"]:
        """Return the logits of the symbol that follows each position."""
        x, mask = self.positions(self.embedding(ids)), causal_mask(ids.size(1))
        for attention, add_norm in zip(self.attentions, self.add_norms, strict=True):
            x = add_norm(x, lambda y, attention=attention: attention(y, y, y, mask))
        logits: Tensor = self.to_logits(self.final_norm(x))
        return logits


def repetitions(
    count: int, periods: Sequence[int], rng: torch.Generator, *, tokens: int = TOKENS
) -> Repetitions:
    """Draw `count` sequences; the period of each is drawn from `periods`."""
    chosen = torch.randint(len(periods), (count, 1), generator=rng)
    period = torch.tensor(periods)[chosen]
    symbols = torch.rand(count, len(SYMBOLS), generator=rng).argsort(dim=1)
    return Repetitions(symbols.gather(1, torch.arange(tokens) % period), period)


def continuation_loss(model: AttentionOnly, drawn: Repetitions) -> Float[Tensor, ""]:
    """Return the cross-entropy of the symbols that can be predicted, in nats."""
    logits, seen = model(drawn.ids[:, :-1]), drawn.predictable
    return nn.functional.cross_entropy(logits[seen], drawn.ids[:, 1:][seen])


def fit_repetitions(
    periods: Sequence[int], *, num_layers: int, num_heads: int = 1, seed: int, updates: int = 250
) -> AttentionOnly:
    """Train a model on batches of 32 sequences with these periods."""
    model = AttentionOnly(num_layers=num_layers, num_heads=num_heads)
    initialize(model, torch.Generator().manual_seed(seed))
    rng = torch.Generator().manual_seed(seed)
    fit(
        model,
        lambda: continuation_loss(model, repetitions(32, periods, rng)),
        steps=updates,
        lr=lambda step: 0.01 * rise_stay_fall(step, updates),
        betas=BETAS,
    )
    return model.eval().requires_grad_(False)


def induction_maps(
    model: AttentionOnly, ids: Int[Tensor, "batch tokens"]
) -> list[Float[Tensor, "batch heads queries keys"]]:
    """Return the weights of each layer while the model reads all symbols but the last."""
    with watching(attention.attention for attention in model.attentions) as seen:  # type: ignore[misc]
        model(ids[:, :-1])
    return seen


def diagonal_weight(
    weights: Float[Tensor, "batch heads queries keys"], offset: Int[Tensor, "batch 1"]
) -> Float[Tensor, " heads"]:
    """Return each head's mean weight on the key `offset` positions before the query, where there is one."""
    queries = torch.arange(weights.size(2))
    keys = (queries - offset)[:, None, :, None].expand(-1, weights.size(1), -1, 1)
    found = weights.gather(3, keys.clamp(min=0))[..., 0]
    return found.masked_fill(keys[..., 0] < 0, torch.nan).nanmean(dim=(0, 2))
