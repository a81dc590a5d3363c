"""SwiGLU: its formula by hand, GEGLU, and the width of equal parameters."""

import pytest
import torch
from torch import nn

from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.modern.swiglu import SwiGLU, gated_width

BATCH, TOKENS, D_MODEL, D_FF = 2, 5, 7, 11
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.equation("eq-swiglu")
def test_oracle_the_formula_by_hand(draw, randomized):
    network, x = randomized(SwiGLU(D_MODEL, D_FF)), draw(BATCH, TOKENS, D_MODEL)
    gate, up = x @ network.gate.weight.T, x @ network.expand.weight.T
    expected = (gate / (1 + (-gate).exp()) * up) @ network.contract.weight.T
    torch.testing.assert_close(network(x), expected, **EXACT)


def test_oracle_with_gelu_it_is_a_geglu(draw, randomized):
    network, x = randomized(SwiGLU(D_MODEL, D_FF, nn.GELU())), draw(BATCH, TOKENS, D_MODEL)
    normal = torch.distributions.Normal(torch.tensor(0.0).double(), torch.tensor(1.0).double())
    gate, up = x @ network.gate.weight.T, x @ network.expand.weight.T
    expected = (gate * normal.cdf(gate) * up) @ network.contract.weight.T
    torch.testing.assert_close(network(x), expected, **EXACT)


def test_law_a_gated_network_with_an_open_gate_is_linear(draw, randomized):
    network, x = randomized(SwiGLU(D_MODEL, D_FF, nn.Identity())), draw(BATCH, TOKENS, D_MODEL)
    torch.testing.assert_close(network(2 * x), 4 * network(x), **EXACT)  # a product of two linear maps


@pytest.mark.parametrize(("d_ff", "multiple", "width"), [(2048, 1, 1366), (2048, 256, 1536), (12, 1, 8)])
def test_law_the_gated_width_is_two_thirds_rounded_up(d_ff, multiple, width):
    assert gated_width(d_ff, multiple) == width


def test_law_at_the_gated_width_there_are_as_many_weights_and_no_biases():
    plain, gated = FeedForward(9, 36), SwiGLU(9, gated_width(36))
    assert gated.gate.out_features == 24 == 8 * 9 / 3
    weights = [p.numel() for p in plain.parameters() if p.ndim == 2]
    assert sum(p.numel() for p in gated.parameters()) == sum(weights)
    assert [name for name, _ in gated.named_parameters() if "bias" in name] == []
