"""The checks of the positional-encoding exercises accept right answers and reject plausible wrong ones."""

import copy
import math

import torch

from annotated_transformer.book.exercises.positional_encoding import (
    check_halves,
    check_input,
    check_look_back,
    check_origin,
    check_sinusoids,
    check_turn,
)
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.positional_encoding import rotation, sinusoids
from tests.answers import faults

ORIGIN = {
    "first row": [0, 1, 0, 1, 0, 1],
    "squared length": 3,
    "learned numbers": 0,
    "product with itself": 3,
}


def halved(length, d_model):
    table = sinusoids(length, d_model)
    return torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)


def first_input(embedded, table, start):
    return embedded * math.sqrt(embedded.size(-1)) + table[start : start + embedded.size(1)]


def along_the_batch(embedded, table, start):
    root = math.sqrt(embedded.size(-1))
    return embedded * root + table[start : start + embedded.size(0), None]


def scaled_sum(embedded, table, start):
    return (embedded + table[start : start + embedded.size(1)]) * math.sqrt(embedded.size(-1))


def head(turn, loudness=8.0, *, num_heads=1):
    def build(offset, d_model):
        layer = MultiHeadAttention(d_model, num_heads, d_k=d_model).double()
        with torch.no_grad():
            layer.to_query.weight[:d_model] = loudness * turn(offset, d_model)
            layer.to_key.weight[:d_model] = loudness * torch.eye(d_model)
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


RIGHT = [
    (check_origin, ORIGIN),
    (check_sinusoids, sinusoids),
    (check_input, first_input),
    (check_turn, rotation),
    (check_look_back, head(lambda k, d: rotation(-k, d))),
    (check_halves, read_in_halves(sines_first)),
]
WRONG = {
    "origin: all zeros": (check_origin, ORIGIN | {"first row": [0] * 6}),
    "origin: as long as wide": (check_origin, ORIGIN | {"squared length": 6}),
    "origin: a product of 1": (check_origin, ORIGIN | {"product with itself": 1}),
    "origin: sinusoids are learned": (check_origin, ORIGIN | {"learned numbers": 6}),
    "sinusoids: sines first, cosines after": (check_sinusoids, halved),
    "sinusoids: transposed table": (check_sinusoids, lambda n, d: sinusoids(n, d).T),
    "input: along the batch": (check_input, along_the_batch),
    "input: the sum is scaled": (check_input, scaled_sum),
    "turn: transposed blocks": (check_turn, lambda k, d: rotation(k, d).T),
    "turn: a single block": (check_turn, lambda k, d: rotation(k, 2)),
    "look back: looks ahead": (check_look_back, head(rotation)),
    "look back: too flat": (check_look_back, head(lambda k, d: rotation(-k, d), loudness=1.0)),
    "look back: a second head": (check_look_back, head(lambda k, d: rotation(-k, d), num_heads=2)),
    "halves: unchanged": (check_halves, copy.deepcopy),
    "halves: changed in place": (check_halves, in_place),
}


WORDS = {
    "sinusoids: sines first, cosines after": "position 0, feature 1 (both counted from 0)",
}


def test_law_right_answers_pass_and_wrong_ones_are_rejected_with_a_reason():
    assert faults(RIGHT, WRONG, WORDS) == []
