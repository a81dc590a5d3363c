"""The checks of the exercises on cost and scale reject wrong answers."""

import pytest
import torch
import torch.nn.functional as F

from tests.solutions import Solutions

solved = Solutions("cost_and_scale")
edited = solved.edited
GROWTH = {
    "scores and averages, n doubled": 4,
    "projections, n doubled": 2,
    "scores and averages, d doubled": 2,
    "projections, d doubled": 4,
    "kept attention weights, heads doubled": 2,
    "KV cache, n doubled": 2,
}


def two_passes(query, key, value, block):
    """Find the largest score first, and then sum."""
    parts = [(keys, values) for keys, values in zip(key.split(block), value.split(block), strict=True)]
    root = query.size(1) ** -0.5
    m = torch.stack([(query @ keys.T * root).amax(dim=1) for keys, _ in parts]).amax(dim=0)[:, None]
    total = sum(torch.exp(query @ keys.T * root - m).sum(dim=1, keepdim=True) for keys, _ in parts)
    return sum(torch.exp(query @ keys.T * root - m) @ values for keys, values in parts) / total


def averaged(one, other):
    total = one[1] + other[1]
    return torch.maximum(one[0], other[0]), total, total * (one[2] / one[1] + other[2] / other[1]) / 2


RIGHT = {"fused": [two_passes]}
WRONG = {
    "growth": [
        ("There are n² scores", GROWTH | {"scores and averages, n doubled": 2}),
        ("Each head has its own", GROWTH | {"kept attention weights, heads doubled": 1}),
    ],
    "fused": [
        ("the sum is not rescaled", edited("fused", "total * old", "total")),
        ("the output is not rescaled", edited("fused", "output * old", "output")),
    ],
    "int8": [
        ("without its sign being dropped", edited("quantized", ".abs()", "")),
        ("for 128", edited("quantized", "127", "128", ".round()", ".round().clamp(max=127)")),
    ],
    "crossing": [
        ("the feed-forward network is left out", lambda d_model, d_ff: 2 * d_model),
        ("only the scores count", lambda d_model, d_ff: 2 * (2 * d_model + d_ff)),
    ],
    "days": [
        ("only the forward pass", edited("days", "6 *", "2 *")),
        ("in hours", edited("days", "24 * ", "")),
    ],
    "merge": [
        ("without rescaling", edited("merged", "(part[0] - m).exp()", "1.0")),
        ("the two outputs are averaged", averaged),
    ],
}


@pytest.mark.equation("eq-online-softmax")
@pytest.mark.parametrize("block", [1, 3, 7, 50])
def test_oracle_attention_in_blocks_is_pytorchs(block: int):
    rng = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(n, 5, generator=rng, dtype=torch.float64) for n in (3, 7, 7))
    wanted = F.scaled_dot_product_attention(100 * query, key, value)
    torch.testing.assert_close(solved.fused(100 * query, key, value, block), wanted, rtol=1e-12, atol=1e-12)
