"""The checks of the exercises on queries, keys, and values reject wrong answers."""

import math

import torch

from annotated_transformer.book.exercises.lookup import (
    ANSWERS,
    check_additive,
    check_answers,
    check_extended,
    check_matrices,
    check_soft_lookup,
    check_writer,
)
from annotated_transformer.text.toy.scenes import FEATURES, SCENE_WORDS, VERBS
from tests.answers import faults


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


RIGHT = [
    (check_answers, dict(ANSWERS)),
    (check_soft_lookup, soft_lookup),
    (check_additive, additive),
    (check_writer, writer),
    (check_extended, extended),
    (check_matrices, matrices),
]


WRONG = {
    "answers: the mean of the neighbors": (check_answers, ANSWERS | {"narrow, query 9.4": 12}),
    "answers: a dictionary raises": (check_answers, ANSWERS | {"narrow, query 13": 0}),
    "soft: not normalized": (check_soft_lookup, varied(normal=False)),
    "soft: underflow": (check_soft_lookup, varied(shift=False)),
    "soft: the width itself": (check_soft_lookup, varied(squared=False)),
    "additive: no tanh": (check_additive, other_additive(tanh=lambda x: x)),
    "additive: scaled": (check_additive, other_additive(scale=11**0.5)),
    "writer: nothing is fed back": (check_writer, other_writer(feed=False)),
    "writer: argmax over the queries": (check_writer, other_writer(dim=1)),
    "extended: the whole square": (check_extended, lambda *x: extended(*x, factor=1.0)),
    "extended: the width itself": (check_extended, lambda *x: extended(*x, power=1)),
    "matrices: too weak": (check_matrices, lambda: matrices(2.0)),
    "matrices: keys are words": (check_matrices, lambda: matrices(by_word=True)),
}


WORDS = {
    "soft: underflow": "round to 0",
}


def test_law_right_answers_pass_and_wrong_ones_are_rejected_with_a_reason():
    assert faults(RIGHT, WRONG, WORDS) == []
