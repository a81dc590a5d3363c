"""The checks of the exercises on Add & Norm reject wrong answers."""

import torch
import torch.nn.functional as F
from torch import Tensor

from annotated_transformer.book.chapters.add_and_norm.exercises import (
    check_add_and_norm,
    check_folded,
    check_last_token,
    check_norm_derivative,
    check_pre_norm,
    check_scales,
)

ROW = [1.67, -1, -0.33, -0.33]
SCALES = [ROW, [-number for number in ROW], [0, 0, 0, 0]]


def add_and_norm(x, sublayer, gain, bias, eps):
    y = x + sublayer(x)
    centered = y - y.mean(-1, keepdim=True)
    return centered * (centered.pow(2).mean(-1, keepdim=True) + eps).rsqrt() * gain + bias


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


def one_too_few(x: Tensor, y: Tensor) -> Tensor:
    total = last_token(x, y) + x.sum(dim=0)
    return total * len(x) / (len(x) + 1) - x.sum(dim=0)


def only_the_mean(x: Tensor, y: Tensor) -> Tensor:
    return -y.sum(dim=0)  # makes the outputs sum to 0


def folded(norm, linear):
    return linear.weight * norm.gain, linear.bias + linear.weight @ norm.bias


def norm_formula(x: Tensor) -> Tensor:
    deviation = x.var(correction=0).sqrt()
    hat = (x - x.mean()) / deviation
    return (torch.eye(len(x)).double() - (1 + hat[:, None] * hat) / len(x)) / deviation


def last_token_by_line(x: Tensor, y: Tensor) -> Tensor:
    """Fit a line through the points of each feature; where y is 0, x is the mean of all tokens."""
    slope = ((x - x.mean(0)) * (y - y.mean(0))).sum(0) / (y - y.mean(0)).square().sum(0)
    return (len(x) + 1) * (x.mean(0) - slope * y.mean(0)) - x.sum(0)


RIGHT = {
    check_scales: [SCALES, torch.tensor(SCALES)],
    check_add_and_norm: [add_and_norm, varied()],
    check_pre_norm: [pre_norm, lambda x, sublayer, norm, dropout: dropout(sublayer(norm(x))).add_(x)],
    check_norm_derivative: [norm_derivative, norm_formula],
    check_last_token: [last_token, last_token_by_line],
    check_folded: [folded, lambda norm, linear: [linear.weight @ norm.gain.diag(), linear(norm.bias)]],
}


WRONG = {
    check_scales: [
        (
            "nothing is divided by the deviation, so that a factor of 10",
            [[10 * number for number in ROW], *SCALES[1:]],
        ),
        ("the sign is lost", [ROW, ROW, SCALES[2]]),
        ("the variance is divided by 3 instead of 4", [[0.87 * number for number in row] for row in SCALES]),
    ],
    check_add_and_norm: [
        ("the variance is divided by d − 1 instead of d", varied(correction=1)),
        ("ε is added to the root instead of the variance", varied(outside=True)),
    ],
    check_pre_norm: [
        ("the stream itself is normalized", one_bug_norm),
        ("the sub-layer's input is not normalized", lambda x, f, norm, drop: x + drop(f(x))),
    ],
    check_norm_derivative: [
        ("the mean and the deviation are taken as constants", fixed_statistics),
        ("the deviation is taken as a constant", fixed_deviation),
    ],
    check_last_token: [
        ("the mean is multiplied by the number of given tokens", one_too_few),
        ("this is the last token's output", only_the_mean),
    ],
    check_folded: [
        ("β is not folded into the bias", lambda norm, linear: (linear.weight * norm.gain, linear.bias)),
        (
            "the weight is scaled by the mean of γ",
            lambda norm, linear: (linear.weight * norm.gain.mean(), folded(norm, linear)[1]),
        ),
    ],
}
