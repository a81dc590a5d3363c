"""A scripted decoder, and a translator whose translations differ."""

import dataclasses
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from annotated_transformer.config import TINY
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import Tokenizer

TEXTS = [
    "A man is sleeping in the park.",
    "Two dogs.",
    "A child",
    "Two dogs.",
    "Men are running, and dogs, too.",
]


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


@pytest.fixture(scope="session")
def translator() -> Translator:
    tokenizer = Tokenizer.train(TEXTS, vocab_size=271)
    torch.manual_seed(0)
    shape = {"num_layers": 1, "d_model": 20, "max_length": 29, "vocab_size": tokenizer.vocab_size}
    model = Transformer(dataclasses.replace(TINY, **shape))
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, torch.nn.Linear):
                module.weight *= 4  # an untrained model repeats its input: the residual dominates
    return Translator(model.double().eval(), tokenizer)
