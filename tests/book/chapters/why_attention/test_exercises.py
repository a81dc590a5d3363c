"""The checks of the exercises on recurrent networks reject wrong answers."""

import math

import torch

from annotated_transformer.book.chapters.why_attention.exercises import (
    PREDICTIONS,
    check_average,
    check_capacity,
    check_gradient_predictions,
    check_half_life,
    check_last_state,
    check_rnn,
)


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


def rnn_with_a_cell(x, w, u, b):
    states = torch.empty(*x.shape[:2], len(b), dtype=x.dtype)
    state = torch.zeros(len(x), len(b), dtype=x.dtype)
    for place in range(x.size(1)):
        state = states[:, place] = torch.tanh(
            torch.cat([x[:, place], state], dim=1) @ torch.cat([w, u], dim=1).T + b
        )
    return states


def by_division(vocab, numbers, bits):
    length, left = 0, 2 ** (numbers * bits)
    while left >= vocab:
        left, length = left // vocab, length + 1
    return length


RIGHT = {
    check_gradient_predictions: [dict(PREDICTIONS), {**PREDICTIONS, "weight 2, 10 words back": 1000}],
    check_rnn: [rnn, rnn_with_a_cell],
    check_average: [
        lambda states, scores: scores.softmax(dim=-1) @ states,
        lambda states, scores: torch.einsum("it,td->id", scores.softmax(-1), states),
    ],
    check_last_state: [lambda rnn, x: rnn(x)[0][:, -1], lambda rnn, x: rnn(x)[1][0][-1]],
    check_half_life: [
        lambda distance: 0.5 ** (1 / distance),
        lambda distance: torch.tensor(0.5, dtype=torch.float64) ** (1 / distance),
    ],
    check_capacity: [capacity, by_division],
}


def test_law_rounded_predictions_pass():
    rounded = {"weight 0.5, 10 words back": 0.001, "weight 2, 10 words back": 1000}
    assert check_gradient_predictions(PREDICTIONS | rounded).passed


WRONG = {
    check_gradient_predictions: [
        (
            "for 'weight 0.5, 10 words back' the gradient is not",
            PREDICTIONS | {"weight 0.5, 10 words back": 0.5**9},
        ),
        (
            "Each step multiplies the gradient by the weight, and this",
            PREDICTIONS | {"weight 2, 10 words back": 2**-10},
        ),
        (
            "for 'average of 10 words, each' the gradient is not 1e-10",
            PREDICTIONS | {"average of 10 words, each": 0.1**10},
        ),
    ],
    check_rnn: [
        ("each word begins with a state of zeros", lambda *inputs: rnn(*inputs, reset=True)),
        ("only the last state is returned", lambda *inputs: rnn(*inputs)[:, -1]),
    ],
    check_average: [
        (
            "the weights of each state sum to 1, not those of each",
            lambda states, scores: scores.softmax(dim=0) @ states,
        ),
        ("the scores are used as weights, without exponentials", lambda states, scores: scores @ states),
    ],
    check_last_state: [
        ("these are the states of one sentence", lambda rnn, x: rnn(x)[0][-1]),
        ("these are the states after the first word", lambda rnn, x: rnn(x)[0][:, 0]),
    ],
    check_half_life: [
        ("the losses of the steps are added", lambda distance: 1 - 0.5 / distance),
        ("1/e of the gradient is left instead of one half", lambda distance: math.exp(-1 / distance)),
    ],
    check_capacity: [
        ("the length is rounded up", lambda *given: capacity(*given) + 1),
        (
            "logarithms are compared, which are rounded",
            lambda vocab, numbers, bits: int(numbers * bits * math.log(2) / math.log(vocab)),
        ),
    ],
}
