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
from tests.solutions import Solutions

solved = Solutions("why_attention")
edited = solved.edited


RIGHT = {
    check_gradient_predictions: [
        PREDICTIONS | {"weight 0.5, 10 words back": 0.001, "weight 2, 10 words back": 1000},
    ],
    check_average: [lambda states, scores: torch.einsum("it,td->id", scores.softmax(-1), states)],
    check_last_state: [lambda rnn, x: rnn(x)[1][0][-1]],
    check_half_life: [lambda distance: torch.tensor(0.5, dtype=torch.float64) ** (1 / distance)],
}
WRONG = {
    check_gradient_predictions: [
        ("for 'weight 0.5, 10 words back'", PREDICTIONS | {"weight 0.5, 10 words back": 0.5**9}),
        ("Each step multiplies the gradient", PREDICTIONS | {"weight 2, 10 words back": 2**-10}),
        ("the gradient is not 1e-10", PREDICTIONS | {"average of 10 words, each": 0.1**10}),
    ],
    check_rnn: [
        ("each word begins with a state of zeros", edited("rnn", "state @ u.T", "0 * state @ u.T")),
        ("only the last state is returned", lambda *given: solved.rnn(*given)[:, -1]),
    ],
    check_average: [
        ("the weights of each state sum to 1", edited("average", "dim=1", "dim=0")),
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
        ("the length is rounded up", lambda *given: solved.longest(*given) + 1),
        (
            "logarithms are compared, which are rounded",
            lambda vocab, numbers, bits: int(numbers * bits * math.log(2) / math.log(vocab)),
        ),
    ],
}
