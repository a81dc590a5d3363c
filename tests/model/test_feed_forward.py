"""What the feed-forward network promises: two maps, one token at a time."""

import pytest
import torch
from torch import nn

from annotated_transformer.model.feed_forward import FeedForward

BATCH, TOKENS, D_MODEL, D_FF = 2, 5, 7, 11
EXACT = {"rtol": 1e-12, "atol": 1e-12}


def test_law_it_is_the_papers_formula(draw, randomized):
    ffn, x = randomized(FeedForward(D_MODEL, D_FF)), draw(BATCH, TOKENS, D_MODEL)
    w_1, w_2 = ffn.expand.weight.T, ffn.contract.weight.T
    expected = torch.clamp(x @ w_1 + ffn.expand.bias, min=0) @ w_2 + ffn.contract.bias
    torch.testing.assert_close(ffn(x), expected, **EXACT)


def test_law_a_token_sees_no_other(draw, randomized):
    ffn, x = randomized(FeedForward(D_MODEL, D_FF)), draw(BATCH, TOKENS, D_MODEL).requires_grad_()
    out = ffn(x)
    out[0, 3].sum().backward()
    reads = x.grad.abs().sum(dim=-1) != 0
    assert reads[0, 3]
    assert reads.sum() == 1
    turned = torch.arange(TOKENS).flip(0)
    torch.testing.assert_close(ffn(x[:, turned]), out[:, turned], **EXACT)
    assert not torch.allclose(out[:, turned], out)


@pytest.mark.parametrize("activation", [nn.ReLU(), nn.GELU()], ids=["relu", "gelu"])
def test_oracle_it_is_two_convolutions_of_width_one(draw, randomized, assert_same, activation):
    ours = randomized(FeedForward(D_MODEL, D_FF, activation))
    convolutions = nn.Conv1d(D_MODEL, D_FF, 1), nn.Conv1d(D_FF, D_MODEL, 1)
    theirs = nn.Sequential(convolutions[0], activation, convolutions[1]).double()
    with torch.no_grad():
        for convolution, linear in zip(convolutions, (ours.expand, ours.contract), strict=True):
            convolution.weight.copy_(linear.weight[..., None])
            convolution.bias.copy_(linear.bias)
    x = draw(BATCH, TOKENS, D_MODEL)
    assert_same(ours, lambda x: theirs(x.mT).mT, (x,))
    for convolution, linear in zip(convolutions, (ours.expand, ours.contract), strict=True):
        torch.testing.assert_close(linear.weight.grad, convolution.weight.grad[..., 0], **EXACT)
        torch.testing.assert_close(linear.bias.grad, convolution.bias.grad, **EXACT)


def test_law_relu_is_the_default():
    assert isinstance(FeedForward(D_MODEL, D_FF).activation, nn.ReLU)
