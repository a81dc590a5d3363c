"""Fast products match PyTorch's for any size and layout."""

from unittest.mock import Mock

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.fast import linear
from annotated_transformer.fast.linear import onednn_linear, output_projection

ROWS, INPUTS, OUTPUTS = 5, 7, 11
DTYPES = [torch.float32, torch.float64, torch.bfloat16]
PRECISION = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 0.03}


def operands(dtype: torch.dtype, across: bool) -> list[torch.Tensor]:
    """Return rows, a weight, and a bias; with `across`, the first two are transposed views."""
    rng = torch.Generator().manual_seed(0)
    shapes = [(ROWS, INPUTS), (OUTPUTS, INPUTS), (OUTPUTS,)]
    x, weight, bias = (torch.randn(shape, generator=rng).to(dtype) for shape in shapes)
    return [x.T.contiguous().T, weight.T.contiguous().T, bias] if across else [x, weight, bias]


PRODUCTS = {
    "without a bias": lambda weight, bias: onednn_linear(weight),
    "with a bias": onednn_linear,
    "of many steps": lambda weight, bias: output_projection(weight),
}
SIZE = INPUTS * OUTPUTS


@pytest.mark.parametrize("limit", [0, SIZE - 1, SIZE, ROWS * SIZE, ROWS * SIZE + 1])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", PRODUCTS)
@pytest.mark.parametrize("across", [False, True])
def test_oracle_products_match_pytorch_for_any_row_counts(monkeypatch, limit, dtype, kind, across):
    for name in ("LARGE", "CACHED"):
        monkeypatch.setattr(linear, name, limit)
    x, weight, bias = operands(dtype, across)
    product = PRODUCTS[kind](weight, bias)
    expected = F.linear(x.double(), weight.double(), bias.double() if kind == "with a bias" else None)
    for rows in (1, ROWS, ROWS, 2, 1, 1, 0, ROWS, 1):
        results = product(x[:rows])
        torch.testing.assert_close(
            results.double(), expected[:rows], rtol=PRECISION[dtype], atol=PRECISION[dtype]
        )
        assert (results.dtype, results.shape) == (dtype, (rows, OUTPUTS))


def test_law_a_weight_that_was_changed_in_place_counts_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(linear, "LARGE", 0)
    x, weight, bias = operands(torch.float32, across=False)
    product = onednn_linear(weight, bias)
    before = product(x)
    weight.neg_()
    bias.neg_()
    torch.testing.assert_close(product(x), -before)


@pytest.mark.parametrize("missing", ["_linear_pointwise", "_reorder_linear_weight"])
@pytest.mark.parametrize("make", [onednn_linear, output_projection])
def test_law_a_pytorch_without_these_operators_computes_the_same(monkeypatch, missing, make):
    monkeypatch.setattr(linear, "LARGE", 0)
    monkeypatch.setattr(linear, "CACHED", 0)
    monkeypatch.setattr(
        torch.ops, "mkldnn", Mock(spec={"_linear_pointwise", "_reorder_linear_weight"} - {missing})
    )
    x, weight = torch.ones(ROWS, INPUTS), torch.ones(OUTPUTS, INPUTS)
    assert torch.equal(make(weight)(x), torch.full((ROWS, OUTPUTS), 7.0))
