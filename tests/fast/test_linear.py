"""oneDNN products: those of PyTorch, for any size and layout."""

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
def test_oracle_a_product_is_that_of_pytorch(
    monkeypatch: pytest.MonkeyPatch, large: int, dtype: torch.dtype, biased: bool, across: bool
):
    monkeypatch.setattr(linear, "LARGE", large)
    rng = torch.Generator().manual_seed(0)
    x, weight, bias = (
        torch.randn(shape, generator=rng).to(dtype)
        for shape in [(ROWS, INPUTS), (OUTPUTS, INPUTS), (OUTPUTS,)]
    )
    if across:  # tensors whose rows lie across memory
        x, weight = x.T.contiguous().T, weight.T.contiguous().T
    found = onednn_linear(weight, bias if biased else None)(x)
    expected = F.linear(x.double(), weight.double(), bias.double() if biased else None)
    precision = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 0.03}[dtype]
    torch.testing.assert_close(found.double(), expected, rtol=precision, atol=precision)
    assert (found.dtype, found.shape) == (dtype, (ROWS, OUTPUTS))


def test_law_a_product_of_no_rows_is_empty():
    assert onednn_linear(torch.ones(OUTPUTS, INPUTS))(torch.ones(0, INPUTS)).shape == (0, OUTPUTS)
