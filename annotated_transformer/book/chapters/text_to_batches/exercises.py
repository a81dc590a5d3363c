"""Checks of the exercises of the chapter on tokens and batches."""

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import torch

from annotated_transformer.book.exercises.answers import Answer, Answers, formula, predictions
from annotated_transformer.book.exercises.rules import expect_without
from annotated_transformer.book.exercises.verdict import (
    expect,
    expect_equal,
    expect_no_mistake,
    expect_tuple,
    judge,
    plural,
)

Merges = list[tuple[str, str]]
Batches = list[list[int]]
SentencePairs = list[tuple[str, str]]
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


@predictions(
    put="four numbers", shows="here, sorting helps only if the batches are cut where the lengths change."
)
def check_padding_count() -> Answers:
    """Judge the predicted numbers of padded places, exercise ex-predict-padding."""
    answers = {}
    for name, batches in CUTS.items():
        places = sum(len(batch) * max(batch) for batch in batches)
        tokens = sum(map(sum, batches))
        mistakes = {
            "this is what the longest sentences take, not what is empty": sum(map(max, batches)),
            "all places are counted, with those of the tokens": places,
            "the tokens are counted": tokens,
        }
        answers[name] = Answer(
            places - tokens, "A batch has as many columns as its longest sentence.", mistakes
        )
    return answers


def _longest_first(word: str, merges: Merges) -> list[str]:
    pieces, parts = {left + right for left, right in merges}, list[str]()
    while word:
        size = max((n for n in range(1, len(word) + 1) if word[:n] in pieces), default=1)
        parts, word = [*parts, word[:size]], word[size:]
    return parts


def _joined(word: str, merges: Merges, count: int = 0) -> list[str]:
    """Return the parts of a word after the merges, by replacing text."""
    text = f" {' '.join(word)} "
    for left, right in merges:
        pattern = rf"(?<= ){re.escape(left)} {re.escape(right)}(?= )"
        text = re.sub(pattern, (left + right).replace("\\", r"\\"), text, count=count)
    return text.split()


def _learned(counts: Mapping[str, int], number: int, tie: int = 0) -> Merges:
    merges: Merges = []
    for _ in range(number):
        pairs = Counter[tuple[str, str]]()
        for word, count in counts.items():
            for pair in pairwise(_joined(word, merges)):
                pairs[pair] += count
        if not pairs:
            break
        most = max(pairs.values())
        merges.append(sorted(pair for pair, count in pairs.items() if count == most)[tie])
    return merges


@judge
def check_learning(answer: Callable[[dict[str, int], int], Merges]) -> str:
    """Judge `answer(counts, number)`, exercise ex-learn-merges, by replacing text in strings."""
    for counts in COUNTS:
        result, wanted = [tuple(pair) for pair in answer(dict(counts), 4)], _learned(counts, 4)
        letters = Counter[tuple[str, str]]()
        for word, count in counts.items():
            for pair in pairwise(word):
                letters[pair] += count
        mistakes = {
            "each word counts once, however often it occurs": _learned(dict.fromkeys(counts, 1), 4),
            "pairs are counted once; count them again after each merge": sorted(
                letters,
                key=lambda pair, letters=letters: (-letters[pair], pair),  # type: ignore[misc]
            )[:4],
            "of equally frequent pairs, the last in alphabetical order is taken": _learned(counts, 4, -1),
        }
        if result != wanted:
            expect_no_mistake(result, mistakes, what=f"the list of merges for {counts}")
        for place, (got, want) in enumerate(zip(result, wanted, strict=False), start=1):
            expect(got == want, f"merge {place} of {counts} is {got}, it should be {want}.")
        expect(len(result) == len(wanted), f"{counts} should give {len(wanted)} merges, not {len(result)}.")
    return "the merges are the same as those found by replacing text."


@judge
def check_encoding(answer: Callable[[str, Merges], list[str]]) -> str:
    """Judge `answer(word, merges)`, exercise ex-encode, by replacing text in strings."""
    expect_without(answer, "__main__.merge")
    cases = [(word, _learned(counts, 6)) for counts in COUNTS for word in [*counts, "slowest", "aaaaa", "x"]]
    cases += [("abc", [("b", "c"), ("a", "b")]), ("abab", [("a", "b"), ("ab", "ab")]), ("", [("a", "b")])]
    for word, merges in cases:
        mistakes = {
            "the longest piece is taken first; the order of the merges decides": _longest_first(word, merges),
            "the merges are used from the last to the first": _joined(word, merges[::-1]),
            "each merge is used at one place only": _joined(word, merges, count=1),
        }
        what = f"the list of pieces of {word!r} with {merges}"
        result = list(answer(word, list(merges)))
        expect_equal(result, _joined(word, merges), what=what, mistakes=mistakes)
    return "the pieces are those of the merges in the order in which they were learned."


@judge
def check_split(answer: Callable[[SentencePairs, float, int], tuple[SentencePairs, SentencePairs]]) -> str:
    """Judge `answer(pairs, share, seed)`, exercise ex-debug-split, on pairs that share a side with others."""
    expect_without(answer, "split_by_sentence")
    pairs = [(f"en {n // 3}", f"de {n}") for n in range(600)]
    pairs += [(f"other {n}", f"de {3 * (n // 2) + 900}") for n in range(600)]
    pairs += [(f"chain {n}", f"link {n}") for n in range(240)]
    pairs += [(f"chain {n + 1}", f"link {n}") for n in range(240) if n % 8 != 7]  # chains of eight links
    random.Random(0).shuffle(pairs)
    for seed in (0, 1):
        train, test = expect_tuple(answer(list(pairs), 0.2, seed), 2)
        both_splits = [*map(tuple, train), *map(tuple, test)]
        expect(sorted(both_splits) == sorted(pairs), "each pair must be in one of the splits, once.")
        size = len(test) / len(pairs)
        swapped = " Are the splits swapped? The training pairs come first." if 0.7 < size < 0.9 else ""
        expect(
            0.1 < size < 0.3, f"the test split should have about 20% of the pairs, not {size:.0%}.{swapped}"
        )
        for side, name in enumerate(("source", "target")):
            both = {pair[side] for pair in train} & {pair[side] for pair in test}
            far = all(text.startswith(("chain", "link")) for text in both)
            why = (
                "Some pairs hang together by a longer chain."
                if far
                else f"Pairs share a {name} sentence, too."
            )
            leaking = plural(len(both), f"{name} sentence")
            expect(not both, f"in both splits: {leaking}, such as {min(both, default='')!r}. {why}")
    expect(answer(list(pairs), 0.2, 0)[1] != test, "two seeds give the same split.")
    return "no sentence of either language is in both splits."


@formula((5,), (1,), (2,), (40,), shows="one sentence has no padding, and in large batches half is padding.")
def check_share(batch: int) -> Answer:
    """Judge `answer(batch)`, the expected share of padding, exercise ex-expected-padding."""
    mistakes = {
        "the size of the batch is not used, or the longest length is taken to be L": 0.5,
        "the mean length is compared with the sum of all lengths": 1 - 1 / batch,
        "the expected maximum is taken to be 1 − 2⁻ⁿ instead of n / (n + 1)": 0.5 - 0.5**batch,
        "this is the share that is not padding": (batch + 1) / (2 * batch),
        "the padding is divided by the tokens, not by all places": (batch - 1) / (batch + 1),
    }
    return Answer(
        (batch - 1) / (2 * batch), "Compare the mean length with the expected maximum.", mistakes, 0.001
    )


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
    given = [answer(list(lengths), 8, pool, generator) for pool, generator in draws]
    found = [[[int(row) for row in rows] for rows in batches] for batches in given]
    for batches in found:
        rows = sorted(row for batch in batches for row in batch)
        expect(rows == list(range(len(lengths))), "each sentence must be in one batch, once.")
        sizes = {len(batch) for batch in batches}
        expect(sizes == {8}, f"a batch must have eight sentences here, not {max(sizes)}; `pool` is larger.")
        means = [sum(lengths[row] for row in batch) / 8 for batch in batches]
        order = sum(left <= right for left, right in pairwise(means)) / (len(means) - 1)
        expect(0.3 < order < 0.7, "the batches come in order of length; shuffle them.")
    one, other = ({tuple(sorted(batch)) for batch in batches} for batches in found[2:])
    expect(len(one & other) < 12, "two seeds put the same sentences together; shuffle before you sort.")
    small, large = _wasted(lengths, found[0]), _wasted(lengths, found[2])
    shares = f"pools of one batch waste {small:.0%}, and pools of twelve batches {large:.0%}"
    if small <= 0.3:
        why = "all sentences are sorted together" if small < 0.03 else "`pool` is used as a number of batches"
        random_share = "the former should waste as much as random batches do"
        expect(False, f"{shares}: {random_share}. It looks as if {why}.")
    expect(large < small / 2, f"{shares}: the latter should waste much less. Sort each pool by length.")
    return f"pools of one batch waste {small:.0%}, pools of twelve batches {large:.0%}."
