"""Models and decoders that say many things, or what they are told."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import EOS_ID

SHAPE = {"vocab_size": 11, "max_length": 23, "num_layers": 2, "d_model": 12, "d_ff": 14, "num_heads": 3}


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


@pytest.fixture(scope="session")
def stirred() -> Callable[..., Transformer]:
    """Return what makes a model that says many things: an untrained one repeats its input."""

    def make(seed: int = 22, **changes: object) -> Transformer:
        torch.manual_seed(seed)
        model = Transformer(TransformerConfig(**{**SHAPE, "dropout": 0.5, **changes})).double()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name.endswith("gain"):
                    parameter.normal_()
                elif name.endswith("bias"):
                    parameter.normal_(std=0.3)
                elif parameter.ndim == 2 and "embedding" not in name:
                    parameter *= 3
        return model

    return make


@pytest.fixture
def model(stirred: Callable[..., Transformer]) -> Transformer:
    return stirred(num_layers=1)


@pytest.fixture(scope="session")
def sources() -> list[list[int]]:
    """Return sentences of different lengths."""
    return [
        [4, EOS_ID],
        [5, 6, 7, 8, 9, 10, EOS_ID],
        [9, 9, EOS_ID],
        [10, 4, 7, 4, EOS_ID],
        [8, 5, EOS_ID],
    ]
