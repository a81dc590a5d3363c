"""A scripted decoder."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from annotated_transformer.model.transformer import Transformer


class Scripted:
    """A step decoder whose scores are a function of the target so far, regardless of the source."""

    def __init__(self, scores: Callable[[list[int]], list[float]], src: Tensor) -> None:
        self.scores, self.tgt = scores, [[] for _ in src]

    def step(self, tokens: Tensor) -> Tensor:
        self.tgt = [[*tgt, token] for tgt, token in zip(self.tgt, tokens.tolist(), strict=True)]
        return torch.tensor([self.scores(tgt[1:]) for tgt in self.tgt], dtype=torch.float64)

    def select(self, rows: Tensor) -> None:
        self.tgt = [self.tgt[row] for row in rows.tolist()]


@pytest.fixture(scope="session")
def script() -> Callable[[Callable[[list[int]], list[float]]], Callable[[Transformer, Tensor], Scripted]]:
    """Return a factory of decoders from a function that maps the target so far to next-token scores."""
    return lambda scores: lambda model, src: Scripted(scores, src)
