"""The checks of the exercises on recurrent networks reject wrong answers."""

import math

import torch

from annotated_transformer.book.exercises.recurrence import (
    PREDICTIONS,
    check_average,
    check_capacity,
    check_gradient_predictions,
    check_half_life,
    check_last_state,
    check_rnn,
)
from tests.answers import faults


def rnn(x, w, u, b, *, reset=False):
    state, states = torch.zeros(len(x), len(u), dtype=x.dtype), []
    for word in x.unbind(dim=1):
        before = torch.zeros_like(state) if reset else state
        state = torch.tanh(word @ w.T + before @ u.T + b)
        states.append(state)
    return torch.stack(states, dim=1)


def capacity(vocab, numbers, bits):
    length = 0
    while vocab ** (length + 1) <= 2 ** (numbers * bits):
        length += 1
    return length


RIGHT = [
    (check_gradient_predictions, dict(PREDICTIONS)),
    (check_rnn, rnn),
    (check_average, lambda states, scores: scores.softmax(dim=-1) @ states),
    (check_last_state, lambda rnn, x: rnn(x)[0][:, -1]),
    (check_half_life, lambda distance: 0.5 ** (1 / distance)),
    (check_capacity, capacity),
]


def test_law_rounded_predictions_pass():
    rounded = {"weight 0.5, 10 words back": 0.001, "weight 2, 10 words back": 1000}
    assert check_gradient_predictions(PREDICTIONS | rounded).passed


WRONG = {
    "predictions: one step less": (
        check_gradient_predictions,
        PREDICTIONS | {"weight 0.5, 10 words back": 0.5**9},
    ),
    "predictions: vanishes": (check_gradient_predictions, PREDICTIONS | {"weight 2, 10 words back": 2**-10}),
    "predictions: distance": (
        check_gradient_predictions,
        PREDICTIONS | {"average of 10 words, each": 0.1**10},
    ),
    "rnn: no memory": (check_rnn, lambda *inputs: rnn(*inputs, reset=True)),
    "rnn: last state": (check_rnn, lambda *inputs: rnn(*inputs)[:, -1]),
    "average: over outputs": (check_average, lambda states, scores: scores.softmax(dim=0) @ states),
    "average: raw scores": (check_average, lambda states, scores: scores @ states),
    "state: last sentence": (check_last_state, lambda rnn, x: rnn(x)[0][-1]),
    "state: first word": (check_last_state, lambda rnn, x: rnn(x)[0][:, 0]),
    "weight: linear": (check_half_life, lambda distance: 1 - 0.5 / distance),
    "weight: other base": (check_half_life, lambda distance: math.exp(-1 / distance)),
    "capacity: rounded up": (check_capacity, lambda *given: capacity(*given) + 1),
    "capacity: natural logarithms": (
        check_capacity,
        lambda vocab, numbers, bits: int(numbers * bits * math.log(2) / math.log(vocab)),
    ),
}


def test_law_right_answers_pass_and_wrong_ones_are_rejected_with_a_reason():
    assert faults(RIGHT, WRONG) == []
