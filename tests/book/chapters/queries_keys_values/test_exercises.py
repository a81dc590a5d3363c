"""The checks of the exercises on queries, keys, and values reject wrong answers."""

import math

import numpy as np
import torch

from annotated_transformer.book.chapters.queries_keys_values.exercises import (
    ANSWERS,
    check_additive,
    check_answers,
    check_extended,
    check_matrices,
    check_soft_lookup,
    check_writer,
)
from annotated_transformer.book.chapters.queries_keys_values.scenes import FEATURES, SCENE_WORDS, VERBS


def soft_lookup(query, keys, values, width, *, shift=True, power=2, squared=True, normal=True):
    scores = [-(abs(query - key) ** power) / (2 * width ** (2 if squared else 1)) for key in keys]
    top = max(scores) if shift else 0
    raised = [math.exp(score - top) for score in scores]
    return sum(r * v for r, v in zip(raised, values, strict=True)) / (sum(raised) if normal else 1)


def varied(**changes):
    return lambda *inputs: soft_lookup(*inputs, **changes)


def additive(query, key, value, w_query, w_key, w_score, *, tanh=torch.tanh, dim=-1, scale=1.0):
    pairs = (query @ w_query)[:, :, None] + (key @ w_key)[:, None]
    scores = tanh(pairs) @ w_score / scale
    return scores.softmax(dim=dim) @ value


def other_additive(**changes):
    return lambda *inputs: additive(*inputs, **changes)


def writer(captioner, cells, start, length, *, feed=True, dim=-1):
    last = torch.full((len(cells), 1), start)
    said = []
    for _ in range(length):
        word = captioner(last, cells).argmax(dim=dim)
        said.append(word)
        last = word if feed else last
    return torch.cat(said, dim=1)


def other_writer(**changes):
    return lambda *inputs: writer(*inputs, **changes)


def extended(query, key, width, *, factor=0.5, power=2):
    ones = torch.ones_like(query[:, :1])
    norms = factor * key.square().sum(dim=-1, keepdim=True)
    return torch.cat([query, ones], dim=-1) / width**power, torch.cat([key, -norms], dim=-1)


def matrices(strength=60.0, *, by_word=False):
    words = len(SCENE_WORDS)
    w_query = torch.zeros(words, 3)
    w_query[:, 1] = strength  # after a noun comes the verb
    w_query[0] = torch.tensor([strength, 0, 0])
    for verb in VERBS:
        w_query[SCENE_WORDS.index(verb)] = torch.tensor([0, 0, strength])
    w_key = torch.zeros(FEATURES, 3)
    w_key[:3] = torch.eye(3)
    if by_word:
        w_key = torch.zeros(FEATURES, 3)
        w_key[4:, 0] = w_key[4:, 2] = 1
        w_key[[4 + SCENE_WORDS.index(verb) for verb in VERBS], 1] = 1
    w_value = torch.cat([torch.zeros(4, words), torch.eye(words)])
    return w_query, w_key, w_value


def by_numpy(query, keys, values, width):
    exponents = -((np.array(keys) - query) ** 2) / (2 * width**2)
    raised = np.exp(exponents - exponents.max())
    return np.dot(raised, values) / raised.sum()


def additive_by_loops(query, key, value, w_query, w_key, w_score):
    rows = []
    for q in (query @ w_query).unbind(dim=1):
        scores = torch.stack([torch.tanh(q + k) @ w_score for k in (key @ w_key).unbind(dim=1)], dim=1)
        rows.append((scores.softmax(dim=1)[..., None] * value).sum(dim=1))
    return torch.stack(rows, dim=1)


def writer_into_a_tensor(captioner, cells, start, length):
    said = torch.full((len(cells), length + 1), start)
    for place in range(length):
        said[:, place + 1] = captioner(said[:, place : place + 1], cells)[:, -1].argmax(dim=-1)
    return said[:, 1:]


def halves(query, key, width):
    """Give the queries a constant, and the keys the other half of the distance."""
    norms = key.square().sum(dim=-1, keepdim=True) / (2 * width**2)
    yield query / width, -torch.ones(len(query), 1, dtype=query.dtype)
    yield key / width, norms


RIGHT = {
    check_answers: [dict(ANSWERS), {case: torch.tensor(number).item() for case, number in ANSWERS.items()}],
    check_soft_lookup: [soft_lookup, by_numpy],
    check_additive: [additive, additive_by_loops],
    check_writer: [writer, writer_into_a_tensor],
    check_extended: [
        extended,
        lambda q, k, width: [torch.cat([part, *rest], dim=-1) for part, *rest in halves(q, k, width)],
    ],
    check_matrices: [matrices, lambda: [matrix.double() for matrix in matrices(1000.0)]],
}


WRONG = {
    check_answers: [
        ("Which key is closest, and how much weight is left for the", ANSWERS | {"narrow, query 9.4": 12}),
        ("The query lies outside all keys, but one of them is closest", ANSWERS | {"narrow, query 13": 0}),
    ],
    check_soft_lookup: [
        ("for query 9, keys [8.0, 10.0, 12.0] and width 1, the answer", varied(normal=False)),
        ("for query 500, keys [8.0, 10.0, 12.0] and width 1, all", varied(shift=False)),
        ("the width is not squared", varied(squared=False)),
    ],
    check_additive: [
        ("tanh is missing", other_additive(tanh=lambda x: x)),
        ("the scores are divided by a root", other_additive(scale=11**0.5)),
    ],
    check_writer: [
        ("no word becomes the next query", other_writer(feed=False)),
        ("of 3 words after start 0 should have the shape (6, 3), not (6, 39)", other_writer(dim=1)),
    ],
    check_extended: [
        ("half of the keys' squared length is enough", lambda *x: extended(*x, factor=1.0)),
        ("the width is not squared", lambda *x: extended(*x, power=1)),
    ],
    check_matrices: [
        ("57 captions of 300 should be different, such as 'dog cat", lambda: matrices(2.0)),
        ("300 captions of 300 should be different, such as 'lamp", lambda: matrices(by_word=True)),
    ],
}
