"""The checks of the exercises on the feed-forward network reject wrong answers."""

import math

import pytest
import torch

from annotated_transformer.book.checks.feed_forward import (
    check_convolutions,
    check_feed_forward,
    check_identities,
    check_largest_value,
    check_maximum,
    check_width,
)
from tests.answers import assert_refused, assert_refused_as_empty, unanswered


def network(x, w1, b1, w2, b2):
    return (x @ w1 + b1).clamp(min=0) @ w2 + b2


def convolutions(x, expand, contract):
    return contract(expand(x.transpose(1, 2)).relu()).transpose(1, 2)


def reshaped(x, expand, contract):
    batch, tokens, width = x.shape
    return contract(expand(x.reshape(batch, width, tokens)).relu()).reshape(x.shape)


def weights(*rows):
    """Return weights whose second matrix has two equal columns."""
    w1 = torch.tensor([row[:2] for row in rows]).T
    return lambda: (w1, torch.tensor([[row[2], row[2]] for row in rows]))


def largest(w1, b1, gain, bias, *, center=True, scale=True, shift=True):
    scaled = gain[:, None] * w1 if scale else w1
    centered = scaled - scaled.mean(dim=0) if center else scaled
    return centered.norm(dim=0) * math.sqrt(len(w1)) + (bias @ w1 if shift else 0) + b1


RIGHT = {
    check_identities: [True, False, False, True],
    check_feed_forward: network,
    check_convolutions: convolutions,
    check_width: lambda share, a: 2 * a * share / (1 - share),
    check_maximum: weights((1.0, -1.0, 1.0), (0.0, 1.0, 1.0), (0.0, -1.0, -1.0)),
    check_largest_value: largest,
}


@pytest.mark.parametrize(("check", "answer"), RIGHT.items())
def test_law_the_right_answer_passes(check, answer):
    assert check(answer).passed, repr(check(answer))


WRONG = {
    "identities: odd": (check_identities, [True, True, False, True]),
    "identities: linear": (check_identities, [True, True, True, True]),
    "identities: no factor": (check_identities, [False, False, False, True]),
    "identities: the words mix": (check_identities, [True, False, False, False]),
    "identities: three": (check_identities, [True, False, False]),
    "network: no ReLU": (check_feed_forward, lambda x, w1, b1, w2, b2: (x @ w1 + b1) @ w2 + b2),
    "network: ReLU at the end": (
        check_feed_forward,
        lambda x, w1, b1, w2, b2: ((x @ w1 + b1) @ w2 + b2).relu(),
    ),
    "network: ReLU before the bias": (
        check_feed_forward,
        lambda x, w1, b1, w2, b2: ((x @ w1).relu() + b1) @ w2 + b2,
    ),
    "network: no second bias": (check_feed_forward, lambda x, w1, b1, w2, b2: network(x, w1, b1, w2, 0 * b2)),
    "network: with the residual": (
        check_feed_forward,
        lambda x, w1, b1, w2, b2: x + network(x, w1, b1, w2, b2),
    ),
    "convolutions: reshaped": (check_convolutions, reshaped),
    "convolutions: ReLU at the end": (
        check_convolutions,
        lambda x, e, c: c(e(x.transpose(1, 2))).relu().transpose(1, 2),
    ),
    "convolutions: no ReLU": (check_convolutions, lambda x, e, c: c(e(x.transpose(1, 2))).transpose(1, 2)),
    "convolutions: not turned back": (check_convolutions, lambda x, e, c: c(e(x.transpose(1, 2)).relu())),
    "ratio: one attention": (check_width, lambda share, a: 2 * share / (1 - share)),
    "ratio: one matrix": (check_width, lambda share, a: 4 * a * share / (1 - share)),
    "ratio: of the whole": (check_width, lambda share, a: 2 * a * share),
    "maximum: of positive numbers": (check_maximum, weights((1.0, -1.0, 1.0), (0.0, 1.0, 1.0))),
    "maximum: the sum": (check_maximum, weights((1.0, 0.0, 1.0), (0.0, 1.0, 1.0))),
    "maximum: the distance": (check_maximum, weights((1.0, -1.0, 1.0), (-1.0, 1.0, 1.0))),
    "maximum: transposed": (check_maximum, lambda: tuple(w.T for w in RIGHT[check_maximum]())),
    "largest: not centered": (check_largest_value, lambda *w: largest(*w, center=False)),
    "largest: no gain": (check_largest_value, lambda *w: largest(*w, scale=False)),
    "largest: no shift": (check_largest_value, lambda *w: largest(*w, shift=False)),
}


@pytest.mark.parametrize(("check", "wrong"), WRONG.values(), ids=WRONG)
def test_law_a_wrong_answer_is_rejected_with_an_explanation(check, wrong):
    assert_refused(check, wrong)


def test_law_an_empty_answer_is_reported_as_empty():
    for check in RIGHT:
        assert_refused_as_empty(check, None if check is check_identities else unanswered)


def test_law_the_verdict_says_that_words_are_mixed():
    assert "another word of the sentence" in check_convolutions(reshaped).message
