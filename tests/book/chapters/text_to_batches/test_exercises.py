"""The checks of the exercises on tokens and batches reject wrong answers."""

import random
from collections import Counter
from itertools import pairwise

import torch

from tests.solutions import Solutions

solved = Solutions("text_to_batches")
edited = solved.edited


def learn_once(counts, number):
    """Count the pairs of letters once, and never again."""
    seen = Counter()
    for word, count in counts.items():
        for pair in pairwise(word):
            seen[pair] += count
    return sorted(seen, key=lambda pair: (-seen[pair], pair))[:number]


def longest_first(word, merges):
    pieces, parts = {left + right for left, right in merges}, []
    while word:
        size = max((n for n in range(1, len(word) + 1) if word[:n] in pieces), default=1)
        parts, word = [*parts, word[:size]], word[size:]
    return parts


def split_by_side(side):
    def answer(pairs, share, seed):
        rng = random.Random(seed)
        test = {text for text in sorted({p[side] for p in pairs}) if rng.random() < share}
        return [p for p in pairs if p[side] not in test], [p for p in pairs if p[side] in test]

    return answer


def with_pool(size):
    """Return an answer that changes the size of a pool, given all sizes."""
    return lambda lengths, batch, pool, rng: solved.pooled(lengths, batch, size(lengths, batch, pool), rng)


sorted_at_once = with_pool(lambda lengths, batch, pool: len(lengths))


def split_by_search(pairs, share, seed):
    """Draw a group of pairs at a time, all that can be reached from one sentence."""
    rng, todo, train, test = random.Random(seed), list(pairs), [], []
    while todo:
        source, target = todo[0]
        sides, size = ({source}, {target}), 0
        while size != sum(map(len, sides)):
            size = sum(map(len, sides))
            for pair in todo:
                if pair[0] in sides[0] or pair[1] in sides[1]:
                    sides[0].add(pair[0])
                    sides[1].add(pair[1])
        group = [pair for pair in todo if pair[0] in sides[0]]
        todo = [pair for pair in todo if pair[0] not in sides[0]]
        (test if rng.random() < share else train).extend(group)
    return train, test


RIGHT = {
    "padding_count": [torch.tensor([22, 8, 8, 1])],
    "learning": [lambda counts, number: [[*pair] for pair in solved.learn(counts, number)]],
    "encoding": [lambda *given: tuple(solved.pieces_of(*given))],
    "split": [split_by_search],
    "pools": [lambda *given: [torch.tensor(rows) for rows in solved.pooled(*given)]],
}
WRONG = {
    "padding_count": [
        ("a batch has as many columns as its longest sentence", [22, 8, 2, 1]),
        ("that is what the longest sentences take;", [10, 10, 10, 0]),
    ],
    "learning": [
        ("each word counts once, however often it occurs", edited("learn", "+= count", "+= 1")),
        ("pairs are counted once", learn_once),
    ],
    "encoding": [
        ("the longest piece is taken first", longest_first),
        ("from the last to the first", lambda word, merges: solved.pieces_of(word, merges[::-1])),
    ],
    "split": [
        ("162 target sentences, such as 'de 1008'", split_by_side(0)),
        ("157 source sentences, such as 'chain 10'", split_by_side(1)),
    ],
    "share": [
        ("the size of the batch is not used", lambda batch: 0.5),
        ("the mean length is compared with the sum of all lengths", lambda batch: 1 - 1 / batch),
    ],
    "pools": [
        ("the latter should waste much less", edited("pooled", "lengths[row])", "0)")),
        ("all sentences are sorted together", sorted_at_once),
    ],
}
