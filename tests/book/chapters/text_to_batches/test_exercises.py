"""The checks of the exercises on tokens and batches reject wrong answers."""

import random
from collections import Counter
from itertools import pairwise

import torch

from annotated_transformer.book.chapters.text_to_batches.exercises import (
    check_encoding,
    check_learning,
    check_padding_count,
    check_pools,
    check_share,
    check_split,
)


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


def encode_in_place(word, merges):
    parts = [*word]
    for left, right in merges:
        place = 0
        while place < len(parts) - 1:
            if parts[place] == left and parts[place + 1] == right:
                parts[place : place + 2] = [left + right]
            place += 1
    return tuple(parts)


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
    check_padding_count: [[22, 8, 8, 1], torch.tensor([22, 8, 8, 1])],
    check_learning: [learn, lambda counts, number: [[*pair] for pair in learn(counts, number)]],
    check_encoding: [encode, encode_in_place],
    check_split: [split, split_by_search],
    check_share: [lambda batch: (batch - 1) / (2 * batch), lambda batch: torch.tensor(0.5 - 0.5 / batch)],
    check_pools: [pooled, lambda *given: [torch.tensor(rows) for rows in pooled(*given)]],
}


WRONG = {
    check_padding_count: [
        ("a batch has as many columns as its longest sentence", [22, 8, 2, 1]),
        ("that is what the longest sentences take;", [10, 10, 10, 0]),
    ],
    check_learning: [
        ("each word counts once, however often it occurs", lambda c, n: learn(c, n, weighted=False)),
        ("pairs are counted once", learn_once),
    ],
    check_encoding: [
        ("the longest piece is taken first", longest_first),
        ("the merges are used from the last to the first", lambda word, merges: encode(word, merges[::-1])),
    ],
    check_split: [
        ("162 target sentences, such as 'de 1008'", split_by_side(0)),
        ("157 source sentences, such as 'chain 10'", split_by_side(1)),
        ("each pair must be in one of the splits, once", split_and_drop),
        ("Some pairs hang together by a longer chain", lambda *given: split(*given, rounds=1)),
        ("two seeds give the same split", lambda pairs, share, seed: split(pairs, share, 0)),
        ("The training pairs come first", lambda *given: split(*given)[::-1]),
    ],
    check_share: [
        ("the size of the batch is not used", lambda batch: 0.5),
        ("the mean length is compared with the sum of all lengths", lambda batch: 1 - 1 / batch),
        ("the expected maximum is taken to be 1 − 2⁻ⁿ instead of n", lambda batch: 0.5 - 0.5**batch),
    ],
    check_pools: [
        ("the latter should waste much less", lambda *given: pooled(*given, sort=False)),
        (
            "all sentences are sorted together",
            lambda lengths, batch, pool, rng: pooled(lengths, batch, len(lengths), rng),
        ),
        (
            "`pool` is used as a number of batches",
            lambda lengths, batch, pool, rng: pooled(lengths, batch, batch * pool, rng),
        ),
        (
            "a batch must have eight sentences here, not 96;",
            lambda lengths, batch, pool, rng: pooled(lengths, pool, pool, rng),
        ),
        ("each sentence must be in one batch, once", lambda *given: pooled(*given, repeated=True)),
        ("put the same sentences together", lambda *given: pooled(*given, shuffled=False)),
        (
            "the batches come in order of length;",
            lambda lengths, batch, pool, rng: pooled(lengths, batch, len(lengths), rng, mixed=False),
        ),
    ],
}
