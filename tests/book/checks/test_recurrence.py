"""The checks of the exercises on recurrent networks reject wrong answers."""

import math

import pytest
import torch

from annotated_transformer.book.checks.recurrence import (
    PREDICTIONS,
    check_average,
    check_capacity,
    check_gradient_predictions,
    check_half_life,
    check_last_state,
    check_rnn,
)
from tests.answers import assert_refused, assert_refused_as_empty, unanswered


def rnn(x, w, u, b, *, bend=torch.tanh, reset=False, transposed=False, shift=True):
    state, states = torch.zeros(len(x), len(u), dtype=x.dtype), []
    for word in x.unbind(dim=1):
        before = torch.zeros_like(state) if reset else state
        state = bend(word @ w.T + before @ (u if transposed else u.T) + (b if shift else 0))
        states.append(state)
    return torch.stack(states, dim=1)


def other_rnn(**changes):
    return lambda *inputs: rnn(*inputs, **changes)


def capacity(vocab, numbers, bits):
    length = 0
    while vocab ** (length + 1) <= 2 ** (numbers * bits):
        length += 1
    return length


RIGHT = {
    check_gradient_predictions: dict(PREDICTIONS),
    check_rnn: rnn,
    check_average: lambda states, scores: scores.softmax(dim=-1) @ states,
    check_last_state: lambda rnn, x: rnn(x)[0][:, -1],
    check_half_life: lambda distance: 0.5 ** (1 / distance),
    check_capacity: capacity,
}


@pytest.mark.parametrize(("check", "answer"), RIGHT.items())
def test_law_the_right_answer_passes(check, answer):
    assert check(answer).passed, repr(check(answer))


def test_law_rounded_predictions_pass():
    rounded = {"weight 0.5, 10 words back": 0.001, "weight 2, 10 words back": 1000}
    assert check_gradient_predictions(PREDICTIONS | rounded).passed


WRONG = {
    "predictions: one step less": (
        check_gradient_predictions,
        PREDICTIONS | {"weight 0.5, 10 words back": 0.5**9},
    ),
    "predictions: added": (check_gradient_predictions, PREDICTIONS | {"weight 0.5, 10 words back": 0.05}),
    "predictions: vanishes": (check_gradient_predictions, PREDICTIONS | {"weight 2, 10 words back": 2**-10}),
    "predictions: distance": (
        check_gradient_predictions,
        PREDICTIONS | {"average of 10 words, each": 0.1**10},
    ),
    "rnn: no memory": (check_rnn, other_rnn(reset=True)),
    "rnn: transposed": (check_rnn, other_rnn(transposed=True)),
    "rnn: linear": (check_rnn, other_rnn(bend=lambda x: x)),
    "rnn: no bias": (check_rnn, other_rnn(shift=False)),
    "rnn: last state": (check_rnn, lambda *inputs: rnn(*inputs)[:, -1]),
    "average: over outputs": (check_average, lambda states, scores: scores.softmax(dim=0) @ states),
    "average: raw scores": (check_average, lambda states, scores: scores @ states),
    "average: equal": (check_average, lambda states, scores: scores.mul(0).softmax(dim=-1) @ states),
    "state: last sentence": (check_last_state, lambda rnn, x: rnn(x)[0][-1]),
    "state: first word": (check_last_state, lambda rnn, x: rnn(x)[0][:, 0]),
    "state: extra axis": (check_last_state, lambda rnn, x: rnn(x)[1][0]),
    "state: the cell": (check_last_state, lambda rnn, x: rnn(x)[1][1][0]),
    "weight: linear": (check_half_life, lambda distance: 1 - 0.5 / distance),
    "weight: other base": (check_half_life, lambda distance: math.exp(-1 / distance)),
    "capacity: rounded up": (check_capacity, lambda *given: capacity(*given) + 1),
    "capacity: natural logarithms": (
        check_capacity,
        lambda vocab, numbers, bits: int(numbers * bits * math.log(2) / math.log(vocab)),
    ),
    "capacity: binary logarithm": (
        check_capacity,
        lambda vocab, numbers, bits: int(numbers * bits / math.log2(vocab)),
    ),
    "capacity: bits": (check_capacity, lambda vocab, numbers, bits: numbers * bits // vocab),
    "capacity: one number": (check_capacity, lambda vocab, numbers, bits: capacity(vocab, 1, bits)),
}


@pytest.mark.parametrize(("check", "wrong"), WRONG.values(), ids=WRONG)
def test_law_a_wrong_answer_is_rejected_with_an_explanation(check, wrong):
    assert_refused(check, wrong)


def test_law_an_empty_answer_is_reported_as_empty():
    for check in RIGHT:
        assert_refused_as_empty(check, {} if check is check_gradient_predictions else unanswered)
