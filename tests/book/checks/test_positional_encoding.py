"""The checks of the positional-encoding exercises accept right answers and reject plausible wrong ones."""

import copy
import math

import pytest
import torch

from annotated_transformer.book.checks.positional_encoding import (
    check_halves,
    check_input,
    check_look_back,
    check_origin,
    check_sinusoids,
    check_turn,
)
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.positional_encoding import rotation, sinusoids
from tests.answers import assert_refused, assert_refused_as_empty, unanswered

ORIGIN = {
    "first row": [0, 1, 0, 1, 0, 1],
    "squared length": 3,
    "learned numbers": 0,
    "product with itself": 3,
}


def halved(length, d_model):
    table = sinusoids(length, d_model)
    return torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)


def by_feature(length, d_model):
    """Give each feature a separate frequency, as if i counted features instead of pairs."""
    position, feature = torch.arange(length)[:, None], torch.arange(d_model)
    angle = position / 10_000 ** (2 * feature / d_model)
    return torch.where(feature % 2 == 0, angle.sin(), angle.cos())


def by_position(length, d_model):
    """Choose sine or cosine by the position, a mistake in the notes."""
    angle = torch.arange(length)[:, None] / 10_000 ** (torch.arange(d_model) // 2 * 2 / d_model)
    return torch.where(torch.arange(length)[:, None] % 2 == 0, angle.sin(), angle.cos())


def first_input(embedded, table, start):
    return embedded * math.sqrt(embedded.size(-1)) + table[start : start + embedded.size(1)]


def along_the_batch(embedded, table, start):
    root = math.sqrt(embedded.size(-1))
    return embedded * root + table[start : start + embedded.size(0), None]


def scaled_sum(embedded, table, start):
    return (embedded + table[start : start + embedded.size(1)]) * math.sqrt(embedded.size(-1))


def one_speed(offset, d_model):
    angle = torch.tensor(float(offset))
    block = torch.stack([angle.cos(), angle.sin(), -angle.sin(), angle.cos()]).view(2, 2)
    return torch.block_diag(*[block] * (d_model // 2))


def head(turn, loudness=8.0):
    def build(offset, d_model):
        layer = MultiHeadAttention(d_model, 1).double()
        with torch.no_grad():
            layer.to_query.weight.copy_(loudness * turn(offset, d_model))
            layer.to_key.weight.copy_(loudness * torch.eye(d_model))
        return layer

    return build


def read_in_halves(columns):
    def convert(layer):
        new = copy.deepcopy(layer)
        with torch.no_grad():
            new.weight.copy_(columns(layer.weight))
        return new

    return convert


def sines_first(weight):
    return torch.cat([weight[:, 0::2], weight[:, 1::2]], dim=1)


def in_place(layer):
    with torch.no_grad():
        layer.weight.copy_(sines_first(layer.weight.clone()))
    return layer


RIGHT = {
    check_origin: ORIGIN,
    check_sinusoids: sinusoids,
    check_input: first_input,
    check_turn: rotation,
    check_look_back: head(lambda k, d: rotation(-k, d)),
    check_halves: read_in_halves(sines_first),
}
WRONG = {
    "origin: all zeros": (check_origin, ORIGIN | {"first row": [0] * 6}),
    "origin: sines first": (check_origin, ORIGIN | {"first row": [0, 0, 0, 1, 1, 1]}),
    "origin: as long as wide": (check_origin, ORIGIN | {"squared length": 6}),
    "origin: a product of 1": (check_origin, ORIGIN | {"product with itself": 1}),
    "origin: sinusoids are learned": (check_origin, ORIGIN | {"learned numbers": 6}),
    "sinusoids: sines first, cosines after": (check_sinusoids, halved),
    "sinusoids: a frequency for each feature": (check_sinusoids, by_feature),
    "sinusoids: sine at even positions": (check_sinusoids, by_position),
    "sinusoids: counted from 1": (check_sinusoids, lambda n, d: sinusoids(n + 1, d)[1:]),
    "sinusoids: cosine first": (check_sinusoids, lambda n, d: sinusoids(n, d).roll(1, dims=1)),
    "sinusoids: transposed table": (check_sinusoids, lambda n, d: sinusoids(n, d).T),
    "input: along the batch": (check_input, along_the_batch),
    "input: the sum is scaled": (check_input, scaled_sum),
    "input: not scaled": (check_input, lambda x, t, s: x + t[s : s + x.size(1)]),
    "input: start is ignored": (check_input, lambda x, t, s: first_input(x, t, 0)),
    "turn: transposed blocks": (check_turn, lambda k, d: rotation(k, d).T),
    "turn: one speed for all pairs": (check_turn, one_speed),
    "turn: only forward": (check_turn, lambda k, d: rotation(abs(k), d)),
    "turn: a single block": (check_turn, lambda k, d: rotation(k, 2)),
    "look back: looks ahead": (check_look_back, head(rotation)),
    "look back: too flat": (check_look_back, head(lambda k, d: rotation(-k, d), loudness=1.0)),
    "look back: one step only": (check_look_back, head(lambda k, d: rotation(-1, d))),
    "look back: at itself": (check_look_back, head(lambda k, d: torch.eye(d))),
    "halves: unchanged": (check_halves, copy.deepcopy),
    "halves: rows for columns": (check_halves, read_in_halves(lambda w: sines_first(w.T).T)),
    "halves: cosines first": (check_halves, read_in_halves(lambda w: sines_first(w.roll(1, dims=1)))),
    "halves: changed in place": (check_halves, in_place),
}


@pytest.mark.parametrize(("check", "answer"), RIGHT.items())
def test_law_a_right_positional_answer_passes(check, answer):
    assert check(answer).passed, repr(check(answer))


@pytest.mark.parametrize(("check", "wrong"), WRONG.values(), ids=WRONG)
def test_law_a_wrong_positional_answer_is_rejected_with_an_explanation(check, wrong):
    verdict = assert_refused(check, wrong)
    assert "stopped with" not in verdict.message


def test_law_an_empty_positional_answer_is_reported_as_empty():
    for check in RIGHT:
        assert_refused_as_empty(check, dict.fromkeys(ORIGIN, ...) if check is check_origin else unanswered)


def test_law_the_verdict_names_the_entry_that_is_wrong():
    message = check_sinusoids(halved).message
    assert "position 0, feature 1 (both counted from 0)" in message
