"""The checks of the exercises on tokens and batches reject wrong answers."""

import random
from collections import Counter
from itertools import pairwise

import torch

from annotated_transformer.book.exercises.text_to_batches import (
    check_encoding,
    check_learning,
    check_padding_count,
    check_pools,
    check_share,
    check_split,
)
from tests.answers import faults


def merge(parts, pair):
    merged = []
    for part in parts:
        if merged and (merged[-1], part) == pair:
            merged[-1] += part
        else:
            merged.append(part)
    return merged


def learn(counts, number, *, weighted=True, key=lambda seen: lambda pair: (-seen[pair], pair)):
    parts, found = {word: [*word] for word in counts}, []
    while len(found) < number:
        seen = Counter()
        for word, count in counts.items():
            for pair in pairwise(parts[word]):
                seen[pair] += count if weighted else 1
        if not seen:
            break
        found.append(min(seen, key=key(seen)))
        parts = {word: merge(old, found[-1]) for word, old in parts.items()}
    return found


def learn_once(counts, number):
    """Count the pairs of letters once, and never again."""
    seen = Counter()
    for word, count in counts.items():
        for pair in pairwise(word):
            seen[pair] += count
    return sorted(seen, key=lambda pair: (-seen[pair], pair))[:number]


def encode(word, merges):
    parts = [*word]
    for pair in merges:
        parts = merge(parts, pair)
    return parts


def longest_first(word, merges):
    pieces, parts = {left + right for left, right in merges}, []
    while word:
        size = max((n for n in range(1, len(word) + 1) if word[:n] in pieces), default=1)
        parts, word = [*parts, word[:size]], word[size:]
    return parts


def split(pairs, share, seed, *, rounds=None):
    label = {(side, p[side]): p[0] for p in pairs for side in (0, 1)}
    changed, done = True, 0
    while changed and done != rounds:
        changed, done = False, done + 1
        for source, target in pairs:
            both = {label[0, source], label[1, target]}
            label[0, source] = label[1, target] = min(both)
            changed |= len(both) > 1
    rng = random.Random(seed)
    test = {name for name in sorted(set(label.values())) if rng.random() < share}
    return [p for p in pairs if label[0, p[0]] not in test], [p for p in pairs if label[0, p[0]] in test]


def split_by_side(side):
    def answer(pairs, share, seed):
        rng = random.Random(seed)
        test = {text for text in sorted({p[side] for p in pairs}) if rng.random() < share}
        return [p for p in pairs if p[side] not in test], [p for p in pairs if p[side] in test]

    return answer


def split_and_drop(pairs, share, seed):
    train, test = split_by_side(0)(pairs, share, seed)
    known = {target for _, target in train}
    return train, [p for p in test if p[1] not in known]


def pooled(lengths, batch, pool, generator, *, mixed=True, sort=True, shuffled=True, repeated=False):
    rows = torch.randperm(len(lengths), generator=generator).tolist() if shuffled else [*range(len(lengths))]
    if repeated:
        rows = torch.randint(len(lengths), (len(lengths),), generator=generator).tolist()
    found = []
    for start in range(0, len(rows), pool):
        part = sorted(rows[start : start + pool], key=lambda row: lengths[row] if sort else 0)
        found += [part[cut : cut + batch] for cut in range(0, len(part), batch)]
    order = torch.randperm(len(found), generator=generator).tolist() if mixed else range(len(found))
    return [found[place] for place in order]


RIGHT = [
    (check_padding_count, [22, 8, 8, 1]),
    (check_learning, learn),
    (check_encoding, encode),
    (check_split, split),
    (check_share, lambda batch: (batch - 1) / (2 * batch)),
    (check_pools, pooled),
]


WRONG = {
    "padding: sorting always helps": (check_padding_count, [22, 8, 2, 1]),
    "padding: only the longest rows": (check_padding_count, [10, 10, 10, 0]),
    "learning: each word counts once": (check_learning, lambda c, n: learn(c, n, weighted=False)),
    "learning: counted once": (check_learning, learn_once),
    "encoding: longest piece first": (check_encoding, longest_first),
    "encoding: in reverse": (check_encoding, lambda word, merges: encode(word, merges[::-1])),
    "split: by source": (check_split, split_by_side(0)),
    "split: by target": (check_split, split_by_side(1)),
    "split: drops pairs": (check_split, split_and_drop),
    "split: one round": (check_split, lambda *given: split(*given, rounds=1)),
    "split: one seed": (check_split, lambda pairs, share, seed: split(pairs, share, 0)),
    "split: sides swapped": (check_split, lambda *given: split(*given)[::-1]),
    "share: half": (check_share, lambda batch: 0.5),
    "share: of the longest": (check_share, lambda batch: 1 - 1 / batch),
    "share: halved by each sentence": (check_share, lambda batch: 0.5 - 0.5**batch),
    "pools: not sorted": (check_pools, lambda *given: pooled(*given, sort=False)),
    "pools: all sorted": (
        check_pools,
        lambda lengths, batch, pool, rng: pooled(lengths, batch, len(lengths), rng),
    ),
    "pools: counted in batches": (
        check_pools,
        lambda lengths, batch, pool, rng: pooled(lengths, batch, batch * pool, rng),
    ),
    "pools: each is a batch": (
        check_pools,
        lambda lengths, batch, pool, rng: pooled(lengths, pool, pool, rng),
    ),
    "pools: drawn with repetition": (check_pools, lambda *given: pooled(*given, repeated=True)),
    "pools: never shuffled": (check_pools, lambda *given: pooled(*given, shuffled=False)),
    "pools: in order of length": (
        check_pools,
        lambda lengths, batch, pool, rng: pooled(lengths, batch, len(lengths), rng, mixed=False),
    ),
}


WORDS = {
    "split: by source": "target sentences are in both splits",
    "split: drops pairs": "each pair must be in one",
    "split: one seed": "two seeds",
    "pools: counted in batches": "sort within pools only",
    "pools: never shuffled": "put the same sentences together",
}


def test_law_right_answers_pass_and_wrong_ones_are_rejected_with_a_reason():
    assert faults(RIGHT, WRONG, WORDS) == []
