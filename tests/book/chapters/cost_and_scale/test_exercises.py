"""The checks of the exercises on cost and scale reject wrong answers."""

import math

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.book.chapters.cost_and_scale.exercises import (
    check_crossing,
    check_days,
    check_fused,
    check_growth,
    check_int8,
    check_merge,
)

GROWTH = {
    "scores and averages, n doubled": 4,
    "projections, n doubled": 2,
    "scores and averages, d doubled": 2,
    "projections, d doubled": 4,
    "kept attention weights, heads doubled": 2,
    "KV cache, n doubled": 2,
}


def fused(query, key, value, block, *, start=-math.inf, total_too=True, output_too=True, scale=True):
    m = query.new_full((len(query), 1), start)
    total, output = torch.zeros_like(m), query.new_zeros(len(query), value.size(1))
    for keys, values in zip(key.split(block), value.split(block), strict=True):
        scores = query @ keys.T / (math.sqrt(query.size(1)) if scale else 1)
        new = torch.maximum(m, scores.amax(dim=1, keepdim=True))
        terms, old = (scores - new).exp(), (m - new).exp()
        total = total * (old if total_too else 1) + terms.sum(dim=1, keepdim=True)
        output, m = output * (old if output_too else 1) + terms @ values, new
    return output / total


def two_passes(query, key, value, block):
    """Find the largest score first, and then sum."""
    parts = [(keys, values) for keys, values in zip(key.split(block), value.split(block), strict=True)]
    root = query.size(1) ** -0.5
    m = torch.stack([(query @ keys.T * root).amax(dim=1) for keys, _ in parts]).amax(dim=0)[:, None]
    total = sum(torch.exp(query @ keys.T * root - m).sum(dim=1, keepdim=True) for keys, _ in parts)
    return sum(torch.exp(query @ keys.T * root - m) @ values for keys, values in parts) / total


def all_at_once(query, key, value, block):
    scores = query @ key.T / math.sqrt(query.size(1))
    terms = (scores - scores.amax(dim=1, keepdim=True)).exp()
    return terms @ value / terms.sum(dim=1, keepdim=True)


def without_maximum(query, key, value, block):
    total, output = 0.0, 0.0
    for keys, values in zip(key.split(block), value.split(block), strict=True):
        terms = (query @ keys.T / math.sqrt(query.size(1))).exp()
        total, output = total + terms.sum(dim=1, keepdim=True), output + terms @ values
    return output / total


def int8(weight, *, absolute=True, most=127, by_row=True, near=True):
    size = weight.abs() if absolute else weight
    step = (size.amax(dim=1, keepdim=True) if by_row else size.amax().expand(len(weight), 1)) / most
    return ((weight / step).round() if near else weight / step).clamp(-128, 127).to(torch.int8), step


def int8_by_rows(weight):
    steps = [max(abs(number) for number in row) / 127 for row in weight.tolist()]
    numbers = [[round(x / s) for x in row] for row, s in zip(weight.tolist(), steps, strict=True)]
    return torch.tensor(numbers, dtype=torch.int8), torch.tensor(steps, dtype=weight.dtype)[:, None]


def days(weights, tokens, cards, peak, share, *, factor=6, seconds=86_400):
    return factor * weights * tokens / cards / peak / share / seconds


def merge(one, other, *, rescale=True):
    m = torch.maximum(one[0], other[0])
    a, b = ((part[0] - m).exp() if rescale else 1.0 for part in (one, other))
    return m, a * one[1] + b * other[1], a * one[2] + b * other[2]


def merge_by_difference(one, other):
    if one[0] < other[0]:
        one, other = other, one
    factor = torch.exp(other[0] - one[0])
    return [one[0], one[1] + factor * other[1], one[2] + factor * other[2]]


def merge_by_zero(one, other):
    """Take all exponentials relative to 0, which overflows."""
    total = one[1] * one[0].exp() + other[1] * other[0].exp()
    return torch.zeros_like(one[0]), total, one[2] * one[0].exp() + other[2] * other[0].exp()


def averaged(one, other):
    total = one[1] + other[1]
    return torch.maximum(one[0], other[0]), total, total * (one[2] / one[1] + other[2] / other[1]) / 2


def normalized(one, other):
    """Divide by the sum, which the next merge needs."""
    m, total, output = merge(one, other)
    return m, torch.ones_like(total), output / total


RIGHT = {
    check_growth: [GROWTH, {name: float(factor) for name, factor in GROWTH.items()}],
    check_fused: [fused, two_passes],
    check_int8: [int8, int8_by_rows],
    check_crossing: [
        lambda d_model, d_ff: 2 * d_model + d_ff,
        lambda d_model, d_ff: (8 * d_model**2 + 4 * d_model * d_ff) / 4 / d_model,
    ],
    check_days: [days, lambda w, t, c, p, u: 2 * w * t / (c * p * u) / 28_800],
    check_merge: [merge, merge_by_difference],
}
WRONG = {
    check_growth: [
        ("There are n² scores", GROWTH | {"scores and averages, n doubled": 2}),
        ("Each head has its own", GROWTH | {"kept attention weights, heads doubled": 1}),
    ],
    check_fused: [
        ("the sum is not rescaled", lambda *a: fused(*a, total_too=False)),
        ("the output is not rescaled", lambda *a: fused(*a, output_too=False)),
        ("largest score so far begin at 0", lambda *a: fused(*a, start=0.0)),
        ("not divided by the root", lambda *a: fused(*a, scale=False)),
        ("not to have all scores at once", all_at_once),
        ("subtract the largest score first", without_maximum),
        ("rules out", lambda q, k, v, block: F.scaled_dot_product_attention(q, k, v)),
    ],
    check_int8: [
        ("without its sign being dropped", lambda w: int8(w, absolute=False)),
        ("for 128", lambda w: int8(w, most=128)),
        ("that of the whole matrix", lambda w: int8(w, by_row=False)),
        ("cut off the digits", lambda w: int8(w, near=False)),
        ("Convert them to torch.int8", lambda w: (int8(w)[0].float(), int8(w)[1])),
    ],
    check_crossing: [
        ("the feed-forward network is left out", lambda d_model, d_ff: 2 * d_model),
        ("only the scores count", lambda d_model, d_ff: 2 * (2 * d_model + d_ff)),
    ],
    check_days: [
        ("only the forward pass", lambda *a: days(*a, factor=2)),
        ("in hours", lambda *a: days(*a, seconds=3600)),
        ("reach their peak", lambda w, t, c, p, u: days(w, t, c, p, 1.0)),
    ],
    check_merge: [
        ("without rescaling", lambda *a: merge(*a, rescale=False)),
        ("the two outputs are averaged", averaged),
        ("relative to 0", merge_by_zero),
        ("already divided", normalized),
    ],
}


@pytest.mark.equation("eq-online-softmax")
@pytest.mark.parametrize("block", [1, 3, 7, 50])
def test_oracle_attention_in_blocks_is_pytorchs(block: int):
    rng = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(n, 5, generator=rng, dtype=torch.float64) for n in (3, 7, 7))
    wanted = F.scaled_dot_product_attention(100 * query, key, value)
    torch.testing.assert_close(fused(100 * query, key, value, block), wanted, rtol=1e-12, atol=1e-12)
