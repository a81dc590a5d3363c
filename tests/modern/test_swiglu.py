"""SwiGLU: its formula by hand, and the width of equal parameters."""

import pytest
import torch

from annotated_transformer.modern.swiglu import SwiGLU, gated_width

BATCH, TOKENS, D_MODEL, D_FF = 2, 5, 7, 11
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.equation("eq-swiglu")
def test_oracle_the_formula_by_hand(draw, randomized):
    network, x = randomized(SwiGLU(D_MODEL, D_FF)), draw(BATCH, TOKENS, D_MODEL)
    gate, up = x @ network.gate.weight.T, x @ network.expand.weight.T
    expected = (gate / (1 + (-gate).exp()) * up) @ network.contract.weight.T
    torch.testing.assert_close(network(x), expected, **EXACT)


@pytest.mark.parametrize(("d_ff", "multiple", "width"), [(2048, 1, 1366), (2048, 256, 1536), (12, 1, 8)])
def test_law_the_gated_width_is_two_thirds_rounded_up(d_ff, multiple, width):
    assert gated_width(d_ff, multiple) == width
