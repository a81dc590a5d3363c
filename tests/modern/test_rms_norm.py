"""RMSNorm: PyTorch's results."""

import pytest
import torch
from torch import nn

from annotated_transformer.modern.rms_norm import RMSNorm

BATCH, TOKENS, D_MODEL = 2, 5, 7


@pytest.mark.equation("eq-rms-norm")
@pytest.mark.parametrize("options", [{}, {"eps": 0.3}], ids=["default", "other"])
def test_oracle_rms_norm_matches_pytorch(draw, randomized, assert_same, options):
    ours = randomized(RMSNorm(D_MODEL, **options))
    theirs = nn.RMSNorm(D_MODEL, eps=ours.eps).double()
    theirs.weight = nn.Parameter(ours.gain.detach().clone())
    assert_same(ours, theirs, (draw(BATCH, TOKENS, D_MODEL),), [(theirs.weight, [ours.gain])])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_law_half_precision_is_computed_in_float32(draw, dtype):
    x = (300 * draw(TOKENS, D_MODEL)).to(dtype)  # its square overflows in float16
    normed = RMSNorm(D_MODEL).to(dtype)(x)
    assert normed.dtype == dtype
    expected = RMSNorm(D_MODEL)(x.float()).to(dtype)
    torch.testing.assert_close(normed, expected)


@pytest.mark.message
@pytest.mark.parametrize("width", [1, 5])
def test_message_tokens_of_the_wrong_width(width):
    with pytest.raises(ValueError, match=rf"x has {width} features, this norm has d_model=7; give tokens of"):
        RMSNorm(7)(torch.zeros(2, 3, width))
