"""An induction head, found and ablated: two attention layers copy the token after an earlier copy."""

import functools
from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotated_transformer.model.masks import causal_mask
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import LayerNorm
from annotated_transformer.model.positional_encoding import SinusoidalPositions

TOKENS, SYMBOLS, D_MODEL = 24, 24, 64
SHORTEST, LONGEST = 4, 12
STEPS, BATCH = 400, 64

pytestmark = pytest.mark.usefixtures("unchecked")


class AttentionOnly(nn.Module):
    """A causal attention-only language model with one head per layer."""

    def __init__(self, num_layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, D_MODEL)
        self.positions = SinusoidalPositions(D_MODEL, TOKENS)
        self.norms = nn.ModuleList(LayerNorm(D_MODEL) for _ in range(num_layers))
        self.attentions = nn.ModuleList(MultiHeadAttention(D_MODEL, 1) for _ in range(num_layers))
        self.final_norm = LayerNorm(D_MODEL)
        self.to_logits = nn.Linear(D_MODEL, SYMBOLS)

    def forward(self, ids: Tensor, ablated: int | None = None) -> Tensor:
        """Return the logits of the symbol after each position; the `ablated` layer adds nothing."""
        x = self.positions(self.embedding(ids))
        for layer, (norm, attention) in enumerate(zip(self.norms, self.attentions, strict=True)):
            if layer != ablated:
                normed = norm(x)
                x = x + attention(normed, normed, normed, causal_mask(TOKENS))
        return self.to_logits(self.final_norm(x))


def draw(count: int, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return prefixes of distinct symbols, repeated to the end, and the length of each prefix.

    The lengths vary: with a fixed length, a single layer would look back by position.
    """
    period = torch.randint(SHORTEST, LONGEST + 1, (count, 1), generator=rng)
    symbols = torch.rand(count, SYMBOLS, generator=rng).argsort(dim=1)
    return symbols.gather(1, torch.arange(TOKENS) % period), period


def loss_on_the_repeated(
    model: AttentionOnly, ids: Tensor, period: Tensor, ablated: int | None = None
) -> Tensor:
    """Return the mean loss where a symbol has occurred before, so that the next one is predictable."""
    logits = model(ids, ablated)[:, :-1]
    losses = F.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
    return losses[torch.arange(TOKENS - 1) >= period].mean()


@dataclass(frozen=True)
class Trained:
    """A model, unseen sequences, and each layer's attention weights on them: batch × queries × keys."""

    model: AttentionOnly
    ids: Tensor
    period: Tensor
    weights: list[Tensor]

    def loss(self, ablated: int | None = None) -> float:
        with torch.no_grad():
            return loss_on_the_repeated(self.model, self.ids, self.period, ablated).item()


@functools.cache
def train(num_layers: int) -> Trained:
    """Train for a few seconds, and record the attention weights on sequences from another seed."""
    torch.manual_seed(0)
    model, rng = AttentionOnly(num_layers), torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.98))
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_on_the_repeated(model, *draw(BATCH, rng)).backward()
        optimizer.step()
    ids, period = draw(512, torch.Generator().manual_seed(1))
    weights: list[Tensor] = []
    for attention in model.attentions:
        observed = attention.attention.weights
        observed.register_forward_hook(lambda module, inputs, output: weights.append(output[:, 0]))
    with torch.no_grad():
        model(ids)
    return Trained(model, ids, period, list(weights))


@pytest.fixture
def two_layers(unchecked: None) -> Trained:
    return train(2)


def test_law_one_layer_cannot_copy_and_two_can(two_layers: Trained):
    assert train(1).loss() > 1.0
    assert two_layers.loss() < 0.1


def test_law_ablating_either_head_breaks_the_copying(two_layers: Trained):
    assert two_layers.loss(ablated=0) > 2.0
    assert two_layers.loss(ablated=1) > 2.0


def test_law_the_first_head_attends_to_the_previous_token(two_layers: Trained):
    first, second = (weights.diagonal(-1, 1, 2).mean().item() for weights in two_layers.weights)
    assert first > 0.3
    assert second < 0.15


def test_law_the_second_head_attends_to_tokens_that_follow_earlier_copies(two_layers: Trained):
    """Key j follows an earlier copy if token j - 1 is the query's own symbol."""
    ids, period = two_layers.ids, two_layers.period
    same = ids.unsqueeze(2) == ids.roll(1, dims=1).unsqueeze(1)
    behind = same & causal_mask(TOKENS) & (torch.arange(TOKENS) > 0)
    repeated = torch.arange(TOKENS) >= period
    assert behind[repeated].any(dim=-1).all()
    first, second = ((w * behind).sum(-1)[repeated].mean().item() for w in two_layers.weights)
    assert second > 0.8
    assert first < 0.3
