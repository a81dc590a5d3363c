"""All targets with their probabilities, a scripted decoder, and a translator whose translations differ."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from annotated_transformer.config import TINY
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import pad
from annotated_transformer.text.tokenizer import BOS_ID, EOS_ID, PAD_ID, Tokenizer

TEXTS = [
    "A man is sleeping in the park.",
    "Two dogs.",
    "A child",
    "Two dogs.",
    "Men are running, and dogs, too.",
]


def all_targets(symbols: list[int], length: int) -> Iterator[list[int]]:
    """Yield every target: those that end with EOS, and those truncated at `length`."""
    others = [symbol for symbol in symbols if symbol != EOS_ID]
    for n in range(length):
        yield from ([*target, EOS_ID] for target in itertools.product(others, repeat=n))
    yield from (list(target) for target in itertools.product(others, repeat=length))


@torch.no_grad()
def log_probs(model: Transformer, source: list[int], targets: list[list[int]]) -> torch.Tensor:
    """Return the log-probability of each target, from one forward pass of the whole model."""
    tgt = pad(targets)
    read = torch.cat([torch.full_like(tgt[:, :1], BOS_ID), tgt[:, :-1]], dim=1)
    scores = model.eval()(torch.tensor([source]).expand(len(tgt), -1), read)
    scores[..., [PAD_ID, BOS_ID]] = -math.inf
    each = scores.log_softmax(dim=-1).gather(2, tgt[:, :, None])[:, :, 0]
    return each.masked_fill(tgt == PAD_ID, 0.0).sum(dim=1)


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
