"""The equations of the chapter on looking inside hold for the package's attention and heads."""

import math

import pytest
import torch

from annotated_transformer.inspection.observation import watching
from annotated_transformer.model.multi_head_attention import MultiHeadAttention


@pytest.mark.equation("eq-head-entropy")
def test_law_the_entropy_is_between_zero_and_the_logarithm_of_the_number_of_keys():
    uniform = torch.full((7,), 1 / 7, dtype=torch.float64)
    one, other = torch.eye(7, dtype=torch.float64)[3], torch.rand(7, dtype=torch.float64)
    low, mixed, high = (torch.special.entr(w / w.sum()).sum().item() for w in (one, other, uniform))
    assert low == 0 < mixed < high
    assert high == pytest.approx(math.log(7), abs=1e-12)


@pytest.mark.equation("eq-weighted-contribution")
def test_oracle_a_layer_is_the_sum_of_the_weighted_contributions_of_its_heads():
    rng = torch.Generator().manual_seed(0)
    layer = MultiHeadAttention(15, 3, d_v=7).double().requires_grad_(False)
    x, z = torch.randn(2, 1, 5, 15, generator=rng, dtype=torch.float64)
    with watching([layer.attention]) as seen:
        output = layer(x, z, z)[0]
    total = torch.zeros_like(output)
    for head, weights in enumerate(seen[0][0]):
        rows = layer.to_output.weight.T[7 * head : 7 * head + 7]  # W^O of this head
        values = z[0] @ layer.to_value.weight.T[:, 7 * head : 7 * head + 7]
        for i in range(5):
            for j in range(5):
                total[i] += weights[i, j] * (values[j] @ rows)
    torch.testing.assert_close(total, output, rtol=0, atol=1e-12)
    assert output.abs().max() > 0.01
