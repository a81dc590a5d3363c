"""Checks of the exercises of the chapter on tokens and batches."""

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import torch

from annotated_transformer.book.exercises.verdict import expect, judge

Merges = list[tuple[str, str]]
Batches = list[list[int]]
SentencePairs = list[tuple[str, str]]
LENGTHS = (2, 10, 3, 3)
CUTS = {
    "one batch of four": ((2, 10, 3, 3),),
    "two batches in the given order": ((2, 10), (3, 3)),
    "two batches of two, sorted": ((2, 3), (3, 10)),
    "sorted, three and one": ((2, 3, 3), (10,)),
}
COUNTS = (
    {"low": 5, "lower": 2, "newest": 6, "widest": 3},
    {"aaaa": 3, "aab": 2, "ba": 2},
    {"wide": 1, "wider": 1, "tide": 2, "tidy": 1},
)


@judge
def check_padding_count(answer: Sequence[int] | None) -> str:
    """Judge the predicted numbers of padded places, exercise ex-predict-padding."""
    expect(answer is not None, "your answer is still empty; put four numbers in its place.")
    numbers = list(answer or ())
    expect(len(numbers) == len(CUTS), "give four numbers, one for each way to cut.")
    for got, (name, batches) in zip(numbers, CUTS.items(), strict=True):
        wanted = sum(len(batch) * max(batch) - sum(batch) for batch in batches)
        message = f"{name}: not {got}; a batch has as many columns as its longest sentence."
        expect(got == wanted, message)
    return "here, sorting helps only if the batches are cut where the lengths change."


def _joined(word: str, merges: Merges) -> list[str]:
    """Return the parts of a word after the merges, by replacing text."""
    text = f" {' '.join(word)} "
    for left, right in merges:
        pattern = rf"(?<= ){re.escape(left)} {re.escape(right)}(?= )"
        text = re.sub(pattern, left + right, text)
    return text.split()


def _learned(counts: Mapping[str, int], number: int) -> Merges:
    merges: Merges = []
    for _ in range(number):
        pairs = Counter[tuple[str, str]]()
        for word, count in counts.items():
            for pair in pairwise(_joined(word, merges)):
                pairs[pair] += count
        if not pairs:
            break
        merges.append(sorted(pairs, key=lambda pair: (-pairs[pair], pair))[0])
    return merges


@judge
def check_learning(answer: Callable[[dict[str, int], int], Merges]) -> str:
    """Judge `answer(counts, number)`, exercise ex-learn-merges, by replacing text in strings."""
    for counts in COUNTS:
        result, wanted = [tuple(pair) for pair in answer(dict(counts), 4)], _learned(counts, 4)
        for place, (got, want) in enumerate(zip(result, wanted, strict=False), start=1):
            expect(got == want, f"merge {place} of {counts} is {got}, it should be {want}.")
        expect(len(result) == len(wanted), f"{counts} should give {len(wanted)} merges, not {len(result)}.")
    return "the merges are the same as those found by replacing text."


@judge
def check_encoding(answer: Callable[[str, Merges], list[str]]) -> str:
    """Judge `answer(word, merges)`, exercise ex-encode, by replacing text in strings."""
    cases = [(word, _learned(counts, 6)) for counts in COUNTS for word in [*counts, "slowest", "aaaaa", "x"]]
    cases += [("abc", [("b", "c"), ("a", "b")]), ("abab", [("a", "b"), ("ab", "ab")]), ("", [("a", "b")])]
    for word, merges in cases:
        result, wanted = answer(word, list(merges)), _joined(word, merges)
        expect(list(result) == wanted, f"{word!r} with {merges} gives {result}, it should give {wanted}.")
    return "the pieces are those of the merges in the order in which they were learned."


@judge
def check_split(answer: Callable[[SentencePairs, float, int], tuple[SentencePairs, SentencePairs]]) -> str:
    """Judge `answer(pairs, share, seed)`, exercise ex-debug-split, on pairs that share a side with others."""
    pairs = [(f"en {n // 3}", f"de {n}") for n in range(600)]
    pairs += [(f"other {n}", f"de {3 * (n // 2) + 900}") for n in range(600)]
    pairs += [(f"chain {n}", f"link {n}") for n in range(240)]
    pairs += [(f"chain {n + 1}", f"link {n}") for n in range(240) if n % 8 != 7]  # chains of eight links
    random.Random(0).shuffle(pairs)
    for seed in (0, 1):
        train, test = answer(list(pairs), 0.2, seed)
        expect(sorted([*train, *test]) == sorted(pairs), "each pair must be in one of the splits, once.")
        size = len(test) / len(pairs)
        expect(0.1 < size < 0.3, f"the test split has {size:.0%} of the pairs; 20 % were asked for.")
        for side, name in enumerate(("source", "target")):
            both = {pair[side] for pair in train} & {pair[side] for pair in test}
            expect(
                not both,
                f"{len(both)} {name} sentences are in both splits, such as {min(both, default='')!r}.",
            )
    expect(answer(list(pairs), 0.2, 0)[1] != test, "two seeds give the same split.")
    return "no sentence of either language is in both splits."


@judge
def check_share(answer: Callable[[int], float]) -> str:
    """Judge `answer(batch)`, exercise ex-expected-padding, by drawing lengths."""
    for size in (1, 2, 5, 40):
        lengths = torch.rand(200_000 // size, size, generator=torch.Generator().manual_seed(0)).double()
        measured = 1 - float(lengths.mean() / lengths.amax(dim=1).mean())
        got = float(answer(size))
        message = f"for batches of {size} your share is {got:.3f}; random lengths give {measured:.3f}."
        expect(abs(got - measured) < 0.01, message)
    return "it agrees with random lengths for four sizes of batches."


def _wasted(lengths: Sequence[int], batches: Batches) -> float:
    places = sum(len(rows) * max(lengths[row] for row in rows) for rows in batches)
    return 1 - sum(lengths) / places


@judge
def check_pools(answer: Callable[[list[int], int, int, torch.Generator], Batches]) -> str:
    """Judge `answer(lengths, batch, pool, generator)`, exercise ex-pools."""
    rng = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 40, (960,), generator=rng).tolist()
    settings = [(pool, seed) for pool in (8, 96) for seed in (0, 1)]
    draws = [(pool, torch.Generator().manual_seed(seed)) for pool, seed in settings]
    found = [answer(list(lengths), 8, pool, generator) for pool, generator in draws]
    for batches in found:
        rows = sorted(row for batch in batches for row in batch)
        expect(rows == list(range(len(lengths))), "each sentence must be in one batch, once.")
        expect({len(batch) for batch in batches} == {8}, "a batch must have eight sentences here.")
        means = [sum(lengths[row] for row in batch) / 8 for batch in batches]
        order = sum(left <= right for left, right in pairwise(means)) / (len(means) - 1)
        expect(0.3 < order < 0.7, "the batches come in order of length; shuffle them.")
    one, other = ({tuple(sorted(batch)) for batch in batches} for batches in found[2:])
    expect(len(one & other) < 12, "two seeds put the same sentences together; shuffle before you sort.")
    small, large = _wasted(lengths, found[0]), _wasted(lengths, found[2])
    expect(
        large < small / 2, f"pools of 96 waste {large:.0%}, pools of one batch {small:.0%}; sort each pool."
    )
    expect(
        small > 0.3,
        f"pools of one batch waste {small:.0%}, less than random batches do; sort within pools only.",
    )
    return f"pools of one batch waste {small:.0%}, pools of twelve batches {large:.0%}."
