"""The checks of the exercises on recurrent networks reject wrong answers."""

import math

from annotated_transformer.book.chapters.why_attention import exercises as checks
from tests.solutions import Solutions

solved = Solutions("why_attention")
edited = solved.edited


RIGHT = {
    "gradient_predictions": [
        checks.PREDICTIONS | {"weight 0.5, 10 words back": 0.001, "weight 2, 10 words back": 1000}
    ]
}
WRONG = {
    "gradient_predictions": [
        ("for 'weight 0.5, 10 words back'", checks.PREDICTIONS | {"weight 0.5, 10 words back": 0.5**9}),
        ("Each step multiplies the gradient", checks.PREDICTIONS | {"weight 2, 10 words back": 2**-10}),
        ("the gradient is not 1e-10", checks.PREDICTIONS | {"average of 10 words, each": 0.1**10}),
    ],
    "rnn": [
        ("each word begins with a state of zeros", edited("rnn", "state @ u.T", "0 * state @ u.T")),
        ("only the last state is returned", lambda *given: solved.rnn(*given)[:, -1]),
    ],
    "average": [
        ("the weights of each state sum to 1", edited("average", "dim=1", "dim=0")),
        ("the scores are used as weights, without exponentials", lambda states, scores: scores @ states),
    ],
    "last_state": [
        ("these are the states of one sentence", lambda rnn, x: rnn(x)[0][-1]),
        ("these are the states after the first word", lambda rnn, x: rnn(x)[0][:, 0]),
    ],
    "half_life": [
        ("the losses of the steps are added", lambda distance: 1 - 0.5 / distance),
        ("1/e of the gradient is left instead of one half", lambda distance: math.exp(-1 / distance)),
    ],
    "capacity": [
        ("the length is rounded up", lambda *given: solved.longest(*given) + 1),
        (
            "logarithms are compared, which are rounded",
            lambda vocab, numbers, bits: int(numbers * bits * math.log(2) / math.log(vocab)),
        ),
    ],
}
