"""The checks of the exercises on Add & Norm reject wrong answers."""

import torch
import torch.nn.functional as F
from torch import Tensor

from annotated_transformer.book.exercises.normalization import (
    check_add_and_norm,
    check_folded,
    check_last_token,
    check_norm_derivative,
    check_pre_norm,
    check_scales,
)
from tests.answers import faults

ROW = [1.67, -1, -0.33, -0.33]
SCALES = [ROW, [-number for number in ROW], [0, 0, 0, 0]]


def add_and_norm(x, sublayer, gain, bias, eps):
    return F.layer_norm(x + sublayer(x), x.shape[-1:], gain, bias, eps)


def varied(*, correction=0, dim=-1, outside=False):
    """Return Add & Norm, optionally with another variance, axis, or eps."""

    def apply(x, sublayer, gain, bias, eps):
        y = x + sublayer(x)
        y = y - y.mean(dim=dim, keepdim=True)
        variance = y.var(dim=dim, correction=correction, keepdim=True)
        root = variance.sqrt() + eps if outside else (variance + eps).sqrt()
        return gain * y / root + bias

    return apply


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


def last_token(x: Tensor, y: Tensor) -> Tensor:
    low, high = x.argmin(dim=0, keepdim=True), x.argmax(dim=0, keepdim=True)
    scale = (x.gather(0, high) - x.gather(0, low)) / (y.gather(0, high) - y.gather(0, low))
    mean = (x - scale * y).mean(dim=0)
    return (len(x) + 1) * mean - x.sum(dim=0)


def only_the_mean(x: Tensor, y: Tensor) -> Tensor:
    return -y.sum(dim=0)  # makes the outputs sum to 0


def folded(norm, linear):
    return linear.weight * norm.gain, linear.bias + linear.weight @ norm.bias


RIGHT = [
    (check_scales, SCALES),
    (check_add_and_norm, add_and_norm),
    (check_pre_norm, pre_norm),
    (check_norm_derivative, norm_derivative),
    (check_last_token, last_token),
    (check_folded, folded),
]


WRONG = {
    "scales: ten times": (check_scales, [[10 * number for number in ROW], *SCALES[1:]]),
    "scales: the sign is lost": (check_scales, [ROW, ROW, SCALES[2]]),
    "scales: unbiased": (check_scales, [[0.87 * number for number in row] for row in SCALES]),
    "add: unbiased": (check_add_and_norm, varied(correction=1)),
    "add: eps outside the root": (check_add_and_norm, varied(outside=True)),
    "debug: the stream is normalized": (check_pre_norm, one_bug_norm),
    "debug: no norm": (check_pre_norm, lambda x, f, norm, drop: x + drop(f(x))),
    "derivative: constant statistics": (check_norm_derivative, fixed_statistics),
    "derivative: constant deviation": (check_norm_derivative, fixed_deviation),
    "last: one token too few": (check_last_token, lambda x, y: last_token(x, y) - last_token(x, y).mean()),
    "last: the sum of the outputs": (check_last_token, only_the_mean),
    "fold: the bias stays": (check_folded, lambda norm, linear: (linear.weight * norm.gain, linear.bias)),
    "fold: rows for columns": (
        check_folded,
        lambda norm, linear: (linear.weight * norm.gain.mean(), folded(norm, linear)[1]),
    ),
}


WORDS = {
    "scales: the sign is lost": "for -x, feature 0",
}


def test_law_right_answers_pass_and_wrong_ones_are_rejected_with_a_reason():
    assert faults(RIGHT, WRONG, WORDS) == []
