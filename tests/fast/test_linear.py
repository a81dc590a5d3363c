"""oneDNN products: those of PyTorch, for any size and layout."""

from unittest.mock import Mock

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.fast import linear
from annotated_transformer.fast.linear import onednn_linear

ROWS, INPUTS, OUTPUTS = 5, 7, 11


@pytest.mark.parametrize("large", [0, ROWS * INPUTS * OUTPUTS, ROWS * INPUTS * OUTPUTS + 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("repeated", [False, True])
def test_oracle_onednn_products_match_pytorch(
    monkeypatch: pytest.MonkeyPatch,
    large: int,
    dtype: torch.dtype,
    biased: bool,
    across: bool,
    repeated: bool,
):
    monkeypatch.setattr(linear, "LARGE", large)
    rng = torch.Generator().manual_seed(0)
    x, weight, bias = (
        torch.randn(shape, generator=rng).to(dtype)
        for shape in [(ROWS, INPUTS), (OUTPUTS, INPUTS), (OUTPUTS,)]
    )
    if across:  # tensors whose rows lie across memory
        x, weight = x.T.contiguous().T, weight.T.contiguous().T
    product = onednn_linear(weight, bias if biased else None, repeated=repeated)
    expected = F.linear(x.double(), weight.double(), bias.double() if biased else None)
    precision = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 0.03}[dtype]
    for rows in (ROWS, ROWS, 2):  # the first large product copies the weight, the others use the copy
        found = product(x[:rows])
        torch.testing.assert_close(found.double(), expected[:rows], rtol=precision, atol=precision)
        assert (found.dtype, found.shape) == (dtype, (rows, OUTPUTS))


@pytest.mark.parametrize("missing", ["_linear_pointwise", "_reorder_linear_weight"])
def test_law_a_pytorch_without_these_operators_computes_the_same(
    monkeypatch: pytest.MonkeyPatch, missing: str
):
    monkeypatch.setattr(linear, "LARGE", 0)
    monkeypatch.setattr(
        torch.ops, "mkldnn", Mock(spec={"_linear_pointwise", "_reorder_linear_weight"} - {missing})
    )
    x, weight = torch.ones(ROWS, INPUTS), torch.ones(OUTPUTS, INPUTS)
    assert torch.equal(onednn_linear(weight, repeated=True)(x), torch.full((ROWS, OUTPUTS), 7.0))


def test_law_a_product_of_no_rows_is_empty():
    assert onednn_linear(torch.ones(OUTPUTS, INPUTS))(torch.ones(0, INPUTS)).shape == (0, OUTPUTS)
