"""The checks of the exercises on Add & Norm reject wrong answers."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from annotated_transformer.book.checks.normalization import (
    check_add_and_norm,
    check_folded,
    check_last_token,
    check_norm_derivative,
    check_pre_norm,
    check_scales,
)
from tests.answers import assert_refused, assert_refused_as_empty, unanswered

ROW = [1.67, -1, -0.33, -0.33]
SCALES = [ROW, [-number for number in ROW], [0, 0, 0, 0]]


def add_and_norm(x, sublayer, gain, bias, eps):
    return F.layer_norm(x + sublayer(x), x.shape[-1:], gain, bias, eps)


def varied(*, correction=0, dim=-1, outside=False, residual=True):
    """Return Add & Norm, optionally with another variance, axis, or eps, or without the residual."""

    def apply(x, sublayer, gain, bias, eps):
        y = x + sublayer(x) if residual else sublayer(x)
        y = y - y.mean(dim=dim, keepdim=True)
        variance = y.var(dim=dim, correction=correction, keepdim=True)
        root = variance.sqrt() + eps if outside else (variance + eps).sqrt()
        return gain * y / root + bias

    return apply


def without_bias(x, sublayer, gain, bias, eps):
    return add_and_norm(x, sublayer, gain, torch.zeros_like(bias), eps)


def pre_norm(x, sublayer, norm, dropout):
    return x + dropout(sublayer(norm(x)))


def one_bug_norm(x, sublayer, norm, dropout):
    x = norm(x)
    return x + dropout(sublayer(x))


def norm_derivative(x: Tensor) -> Tensor:
    return torch.autograd.functional.jacobian(lambda x: F.layer_norm(x, x.shape, eps=0.0), x)


def fixed_statistics(x: Tensor) -> Tensor:
    """Treat the mean and standard deviation as constants."""
    return torch.eye(len(x), dtype=x.dtype) / x.std(correction=0)


def fixed_deviation(x: Tensor) -> Tensor:
    return (torch.eye(len(x), dtype=x.dtype) - 1 / len(x)) / x.std(correction=0)


def last_token(x: Tensor, y: Tensor, count: int = 1) -> Tensor:
    low, high = x.argmin(dim=0, keepdim=True), x.argmax(dim=0, keepdim=True)
    scale = (x.gather(0, high) - x.gather(0, low)) / (y.gather(0, high) - y.gather(0, low))
    mean = (x - scale * y).mean(dim=0)
    return (len(x) + count) * mean - count * x.sum(dim=0)


def only_the_mean(x: Tensor, y: Tensor) -> Tensor:
    return -y.sum(dim=0)  # makes the outputs sum to 0


def folded(norm, linear):
    return linear.weight * norm.gain, linear.bias + linear.weight @ norm.bias


RIGHT = {
    check_scales: SCALES,
    check_add_and_norm: add_and_norm,
    check_pre_norm: pre_norm,
    check_norm_derivative: norm_derivative,
    check_last_token: last_token,
    check_folded: folded,
}


@pytest.mark.parametrize(("check", "answer"), RIGHT.items())
def test_law_the_right_answer_passes(check, answer):
    assert check(answer).passed, repr(check(answer))


WRONG = {
    "scales: ten times": (check_scales, [[10 * number for number in ROW], *SCALES[1:]]),
    "scales: the sign is lost": (check_scales, [ROW, ROW, SCALES[2]]),
    "scales: equal features stay": (check_scales, [*SCALES[:2], [7, 7, 7, 7]]),
    "scales: unbiased": (check_scales, [[0.87 * number for number in row] for row in SCALES]),
    "scales: two rows": (check_scales, SCALES[:2]),
    "add: unbiased": (check_add_and_norm, varied(correction=1)),
    "add: eps outside the root": (check_add_and_norm, varied(outside=True)),
    "add: over the tokens": (check_add_and_norm, varied(dim=0)),
    "add: over all axes": (check_add_and_norm, varied(dim=None)),
    "add: no residual": (check_add_and_norm, varied(residual=False)),
    "add: no bias": (check_add_and_norm, without_bias),
    "add: no eps": (check_add_and_norm, lambda x, f, g, b, eps: add_and_norm(x, f, g, b, 0.0)),
    "debug: the stream is normalized": (check_pre_norm, one_bug_norm),
    "debug: dropout on the sum": (check_pre_norm, lambda x, f, norm, drop: drop(x + f(norm(x)))),
    "debug: post-norm": (check_pre_norm, lambda x, f, norm, drop: norm(x + drop(f(x)))),
    "debug: no norm": (check_pre_norm, lambda x, f, norm, drop: x + drop(f(x))),
    "debug: no dropout": (check_pre_norm, lambda x, f, norm, drop: x + f(norm(x))),
    "derivative: constant statistics": (check_norm_derivative, fixed_statistics),
    "derivative: constant deviation": (check_norm_derivative, fixed_deviation),
    "derivative: not divided": (check_norm_derivative, lambda x: norm_derivative(x) * x.std(correction=0)),
    "last: one token too few": (check_last_token, lambda x, y: last_token(x, y) - last_token(x, y).mean()),
    "last: the sum of the outputs": (check_last_token, only_the_mean),
    "last: the mean": (check_last_token, lambda x, y: x.mean(dim=0)),
    "fold: the bias stays": (check_folded, lambda norm, linear: (linear.weight * norm.gain, linear.bias)),
    "fold: rows for columns": (
        check_folded,
        lambda norm, linear: (linear.weight * norm.gain.mean(), folded(norm, linear)[1]),
    ),
    "fold: nothing": (check_folded, lambda norm, linear: (linear.weight, linear.bias)),
}


@pytest.mark.parametrize(("check", "wrong"), WRONG.values(), ids=WRONG)
def test_law_a_wrong_answer_is_rejected_with_an_explanation(check, wrong):
    assert_refused(check, wrong)


def test_law_an_empty_answer_is_reported_as_empty():
    for check in RIGHT:
        assert_refused_as_empty(check, None if check is check_scales else unanswered)


def test_law_the_verdict_names_the_token_that_is_wrong():
    check, answer = WRONG["scales: the sign is lost"]
    assert "for -x, feature 0" in check(answer).message
