"""Checks of the exercises of the chapter on masking (section 3.2.3 of the paper)."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from annotated_transformer.book.checks.verdict import expect, judge
from annotated_transformer.model.masks import causal_mask


def expect_mask(found: object, wanted: Tensor, *, what: str) -> None:
    """Stop the check unless `found` is the boolean mask `wanted`; name one pair where they differ."""
    expect(isinstance(found, Tensor), f"{what} should be a tensor, not {type(found).__name__}.")
    mask = torch.as_tensor(found)
    expect(mask.dtype == torch.bool, f"{what} has dtype {mask.dtype}, it should be torch.bool.")
    shape, right = tuple(mask.shape), tuple(wanted.shape)
    expect(shape == right, f"{what} has shape {shape}, it should have {right}.")
    if not torch.equal(mask, wanted):
        query, key = (mask != wanted).nonzero()[0].tolist()
        word = "may" if wanted[query, key] else "may not"
        expect(False, f"in {what}, query {query} {word} attend to key {key} (counted from 0).")


@judge
def check_local_mask(answer: Callable[[int, int], Tensor]) -> str:
    """Judge `answer(tokens, window)`, exercise ex-local-mask."""
    for tokens, window in ((7, 3), (5, 1), (4, 11)):
        query, key = torch.arange(tokens)[:, None], torch.arange(tokens)
        wanted = (key <= query) & (key > query - window)
        expect_mask(answer(tokens, window), wanted, what=f"the mask for {tokens} tokens, window {window}")
    return "each query reads itself and the window - 1 positions before it, and nothing later."


@judge
def check_prefix_mask(answer: Callable[[int, int], Tensor]) -> str:
    """Judge `answer(tokens, prefix)`, exercise ex-prefix-mask."""
    for tokens, prefix in ((7, 3), (5, 0), (4, 4)):
        query, key = torch.arange(tokens)[:, None], torch.arange(tokens)
        wanted = (key <= query) | (key < prefix)
        expect_mask(answer(tokens, prefix), wanted, what=f"the mask for {tokens} tokens, prefix {prefix}")
    return "everybody reads the whole prefix; after it nobody reads ahead."


@judge
def check_packed_mask(answer: Callable[[Tensor], Tensor]) -> str:
    """Judge `answer(sentence)`, exercise ex-packed-mask."""
    for numbers in ([0, 0, 0, 1, 1, 2, 2], [4, 4, 4], [0, 1, 2, 3]):
        sentence = torch.tensor(numbers)
        wanted = (sentence[:, None] == sentence) & causal_mask(len(numbers))
        expect_mask(answer(sentence), wanted, what=f"the mask for sentence={numbers}")
    return "one row holds several sentences, and each reads only its own past."


@judge
def check_reads(answer: Callable[[nn.Module, Tensor], Tensor]) -> str:
    """Judge `answer(layer, x)`, exercise ex-leak-detector."""
    tokens = 7
    rng = torch.Generator().manual_seed(0)
    for name, reach in _layers(tokens):
        layer = _Mixer(reach, rng)
        x = torch.randn(tokens, 3, generator=rng, dtype=torch.float64)
        expect_mask(answer(layer, x), reach, what=f"what you found for a layer that reads {name}")
    return "no leak hides from the gradient."


def _layers(tokens: int) -> Iterator[tuple[str, Tensor]]:
    position = torch.arange(tokens)
    yield "itself and what came before", causal_mask(tokens)
    yield "everything", torch.ones(tokens, tokens, dtype=torch.bool)
    yield "one position too far", position <= position[:, None] + 1
    yield "only what comes after", ~causal_mask(tokens)
    yield "its past, with one leak from the last position to the first", causal_mask(tokens) | _corner(tokens)


def _corner(tokens: int) -> Tensor:
    corner = torch.zeros(tokens, tokens, dtype=torch.bool)
    corner[0, -1] = True
    return corner


class _Mixer(nn.Module):
    """Mix positions as a boolean matrix allows; some influences cancel in the sum over the features."""

    def __init__(self, reach: Tensor, rng: torch.Generator) -> None:
        super().__init__()
        self.mixing = reach * (torch.rand(reach.shape, generator=rng, dtype=torch.float64) + 0.5)
        self.features = torch.tensor([[1, -1, 0], [2, 0, -2], [0, 3, -3]], dtype=torch.float64)

    def forward(self, x: Tensor) -> Tensor:
        """Return sums over positions whose features, added together, always give zero."""
        return self.mixing @ x @ self.features
