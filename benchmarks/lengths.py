"""How the time of self-attention grows with the sentence, beside loops and recurrent layers, on one thread.

    python -m benchmarks.lengths

*Loops*: the two products of chapter 4 and two loops that compute the same, forward only. *Scores*: a lookup
with dot products and one with additive scores, forward only. *Updates*: an update of the weights of a
self-attention layer, and of recurrent layers as wide as it is. The result is
`lengths_FAMILY-MODEL.json`, named after the processor. Chapters 1, 3, and 4 show its ratios.
"""

import math
from collections.abc import Callable, Iterable
from functools import partial

import torch
from torch import Tensor, nn
from torch.optim import Adam

from annotated_transformer.book.chapters.self_attention.self_attention import (
    SelfAttention,
    plain_self_attention,
)
from annotated_transformer.book.toy.lookup import LearnedLookup
from annotated_transformer.model import AdditiveAttention
from benchmarks.record import begin, processor_kind, write_result
from benchmarks.turns import Round, compare, take_turns

LOOP_WIDTH = 64
LOOKUPS = 10_000  # words of a round
WIDTH, BATCH = 128, 16


def repeated(compute: Callable[[], object], times: int, words: int) -> Round:
    """Return a round that calls a function some times, and counts the words of all calls."""

    def do_round() -> int:
        for _ in range(times):
            compute()
        return times * words

    return do_round


def loop_over_words(x: Tensor) -> Tensor:
    """Return plain self-attention, one word at a time."""
    averages = torch.zeros_like(x)
    for sentence, rows in zip(x, averages, strict=True):
        for i, word in enumerate(sentence):
            rows[i] = (sentence @ word).softmax(dim=0) @ sentence
    return averages


def loop_over_pairs(x: Tensor) -> Tensor:
    """Return plain self-attention, one pair of words at a time: the loop of chapter 4."""
    averages = torch.zeros_like(x)
    for sentence, rows in zip(x, averages, strict=True):
        for i, word in enumerate(sentence):
            raised = [math.exp(word @ other) for other in sentence]
            total = sum(raised)
            for r, other in zip(raised, sentence, strict=True):
                rows[i] += r / total * other
    return averages


# With the number of words or pairs that a round takes at least, so that a round is long enough to be timed.
WAYS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[int], int]]] = {
    "ours, two products": (plain_self_attention, lambda words: 1_000),
    "loop over words": (loop_over_words, lambda words: 2_000 // words),
    "loop over pairs": (loop_over_pairs, lambda words: 2_000 // words**2),
}


def prepare_loop(way: str, words: int) -> Round:
    """Return a round of self-attention on a sentence."""
    compute, calls = WAYS[way]
    x = torch.randn(1, words, LOOP_WIDTH, generator=torch.Generator().manual_seed(0)) / LOOP_WIDTH**0.5
    return repeated(lambda: compute(x), max(1, calls(words)), words)


SCORES = ("ours, dot product", "additive score")


def prepare_lookup(score: str, words: int) -> Round:
    """Return a round that looks up each word of a sentence in the sentence."""
    torch.manual_seed(0)
    lookup = LearnedLookup(LOOP_WIDTH, LOOP_WIDTH, d_k=LOOP_WIDTH, d_v=LOOP_WIDTH)
    if score == "additive score":  # which has the two matrices for queries and keys in it
        lookup.attention = AdditiveAttention(LOOP_WIDTH, LOOP_WIDTH, LOOP_WIDTH)
        lookup.to_query = lookup.to_key = nn.Identity()  # type: ignore[assignment]
    lookup.requires_grad_(False)
    x = torch.randn(1, words, LOOP_WIDTH)
    return repeated(lambda: lookup(x, x), max(1, LOOKUPS // words), words)


LAYERS: dict[str, Callable[[], nn.Module]] = {
    "ours, self-attention": partial(SelfAttention, WIDTH, WIDTH, WIDTH),
    "RNN": partial(nn.RNN, WIDTH, WIDTH, batch_first=True),  # returns all states, and the last one again
    "LSTM": partial(nn.LSTM, WIDTH, WIDTH, batch_first=True),
}


def prepare_update(layer: str, words: int) -> Round:
    """Return a round that updates a layer's weights."""
    torch.manual_seed(0)
    model = LAYERS[layer]()
    optimizer = Adam(model.parameters(), lr=1e-4, fused=True)
    x, target = torch.randn(2, BATCH, words, WIDTH)

    def update() -> None:
        output = model(x)
        loss = ((output if isinstance(output, Tensor) else output[0]) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return repeated(update, max(1, 256 // words), BATCH * words)


PARTS: dict[str, tuple[Iterable[str], Callable[[str, int], Round], tuple[int, ...]]] = {
    "loops": (WAYS, prepare_loop, (4, 16, 64, 256)),
    "scores": (SCORES, prepare_lookup, (16, 64, 256)),
    "updates": (LAYERS, prepare_update, (16, 64, 256, 1024)),
}


def main() -> None:
    """Measure, print the ratios, and write the result."""
    options = begin(__doc__, rounds=7)
    results: dict[str, dict[str, object]] = {}
    for part, (names, prepare, lengths) in PARTS.items():
        results[part] = {}
        for words in lengths:
            contestants = {name: partial(prepare, name, words) for name in names}
            timings = take_turns(contestants, rounds=options.rounds)
            results[part][str(words)] = {"found": timings, "ratios": compare(timings)}
            print(part, words, compare(timings), flush=True)
    write_result(f"lengths_{processor_kind()}", results)


if __name__ == "__main__":
    main()
