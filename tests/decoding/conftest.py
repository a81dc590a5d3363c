"""A decoder that follows a script."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from annotated_transformer.model.transformer import Transformer


class Scripted:
    """A step decoder whose scores are a function of what the target holds, whatever the source says."""

    def __init__(self, scores: Callable[[list[int]], list[float]], src: Tensor) -> None:
        self.scores, self.tgt, self.steps = scores, [[] for _ in src], 0

    def step(self, tokens: Tensor) -> Tensor:
        self.steps += 1
        self.tgt = [[*tgt, token] for tgt, token in zip(self.tgt, tokens.tolist(), strict=True)]
        return torch.tensor([self.scores(tgt[1:]) for tgt in self.tgt], dtype=torch.float64)

    def select(self, rows: Tensor) -> None:
        self.tgt = [self.tgt[row] for row in rows.tolist()]


@pytest.fixture(scope="session")
def script() -> Callable[[Callable[[list[int]], list[float]]], Callable[[Transformer, Tensor], Scripted]]:
    """Return what makes a decoder of a function from what was said to the scores of the next token."""
    return lambda scores: lambda model, src: Scripted(scores, src)
