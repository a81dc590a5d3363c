"""Normalization: tokens are normalized separately, and dropout is applied to the sub-layer's output."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from annotated_transformer.model.normalization import LayerNorm, PostNorm, PreNorm

BATCH, TOKENS, D_MODEL = 2, 5, 7
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.equation("eq-layer-norm")
def test_law_four_features_by_hand():
    norm = LayerNorm(4, eps=1.0).double()
    x = torch.tensor([1.0, 3.0, 5.0, 7.0], dtype=torch.float64)  # mean 4, biased variance 5
    root = 6**0.5
    expected = torch.tensor([-3 / root, -1 / root, 1 / root, 3 / root], dtype=torch.float64)
    torch.testing.assert_close(norm(x), expected, **EXACT)


@pytest.mark.parametrize("options", [{}, {"eps": 0.3}], ids=["PyTorch's default", "other"])
def test_oracle_layer_norm_matches_pytorch(draw, randomized, copied, assert_same, options):
    ours = randomized(LayerNorm(D_MODEL, **options))
    theirs = nn.LayerNorm(D_MODEL, **options)
    found = copied(ours, theirs)
    assert_same(ours, theirs, (draw(BATCH, TOKENS, D_MODEL),), found)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("size", [1e-4, 1.0, 300.0])  # squares underflow, or overflow
def test_oracle_half_precision_is_computed_in_float32_as_by_pytorch(draw, randomized, dtype, size):
    norm = randomized(LayerNorm(127)).to(dtype)
    x = (size * draw(BATCH, TOKENS, 127)).to(dtype)
    found = norm(x)
    assert found.dtype == dtype
    one_rounding = torch.finfo(dtype).eps
    expected = F.layer_norm(x, (127,), norm.gain, norm.bias, norm.eps)
    torch.testing.assert_close(found, expected, rtol=one_rounding, atol=one_rounding * 1e-2)


@pytest.mark.equation("eq-post-norm", "eq-pre-norm")
def test_law_dropout_is_applied_between_the_sublayer_and_the_sum(draw, randomized):
    x = draw(BATCH, TOKENS, D_MODEL)
    sublayer = randomized(nn.Linear(D_MODEL, D_MODEL))
    post, pre = (randomized(kind(D_MODEL, 0.4)) for kind in (PostNorm, PreNorm))
    for surround in (post, pre):
        torch.manual_seed(0)
        found = surround(x, sublayer)
        torch.manual_seed(0)
        dropped = F.dropout(sublayer(x if surround is post else surround.norm(x)), p=0.4)
        expected = surround.norm(x + dropped) if surround is post else x + dropped
        torch.testing.assert_close(found, expected, **EXACT)
        assert (dropped == 0).any()


@pytest.mark.equation("eq-residual-gradient")
def test_law_the_jacobian_of_a_residual_is_the_identity_plus_that_of_the_sublayer(draw, randomized):
    x, sublayer = draw(1, TOKENS, D_MODEL).requires_grad_(), randomized(nn.Linear(D_MODEL, D_MODEL))
    pre = PreNorm(D_MODEL, 0.0).double()
    pre.norm = nn.Identity()
    gradient = draw(1, TOKENS, D_MODEL)
    (found,) = torch.autograd.grad(pre(x, sublayer), x, gradient)
    jacobian = sublayer.weight.detach()
    torch.testing.assert_close(found, gradient @ (torch.eye(D_MODEL).double() + jacobian), **EXACT)
    assert (gradient @ jacobian).abs().max() > 0.1


@pytest.mark.message
@pytest.mark.parametrize("width", [1, 5])  # a single feature would broadcast to seven
def test_message_tokens_of_the_wrong_width(width):
    with pytest.raises(ValueError, match=rf"x has {width} features, this norm has d_model=7; give tokens of"):
        LayerNorm(7)(torch.zeros(2, 3, width))
