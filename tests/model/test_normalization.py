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


def test_law_each_token_is_normalized_separately(draw):
    norm, x = LayerNorm(D_MODEL).double(), draw(BATCH, TOKENS, D_MODEL)
    before = norm(x)
    changed = x.clone()
    changed[0, 2:] = 1e3 * draw(TOKENS - 2, D_MODEL)  # the future
    changed[1] = 7  # another sentence
    assert torch.equal(norm(changed)[0, :2], before[0, :2])
    assert torch.equal(norm(x[:1, :1]), before[:1, :1])  # a batch of one token
    assert not torch.equal(norm(changed)[0, 2:], before[0, 2:])


def test_law_a_token_comes_out_with_mean_0_and_biased_variance_1(draw):
    out = LayerNorm(D_MODEL, eps=0.0).double()(3 * draw(BATCH, TOKENS, D_MODEL) + 5)
    torch.testing.assert_close(out.mean(dim=-1), torch.zeros(BATCH, TOKENS).double(), **EXACT)
    torch.testing.assert_close(out.var(dim=-1, correction=0), torch.ones(BATCH, TOKENS).double(), **EXACT)


def test_law_gain_and_bias_start_as_the_identity_and_a_constant_token_becomes_zeros():
    norm = LayerNorm(D_MODEL)
    assert torch.equal(norm.gain, torch.ones(D_MODEL))
    assert torch.equal(norm.bias, torch.zeros(D_MODEL))
    assert torch.equal(norm(torch.full((D_MODEL,), 3.0)), torch.zeros(D_MODEL))


@pytest.mark.parametrize("eps", [1e-5, 0.3])
def test_oracle_layer_norm_matches_pytorch(draw, randomized, copied, assert_same, eps):
    ours = randomized(LayerNorm(D_MODEL, eps))
    theirs = nn.LayerNorm(D_MODEL, eps)
    found = copied(ours, theirs)
    assert_same(ours, theirs, (draw(BATCH, TOKENS, D_MODEL),), found)


def test_oracle_the_default_eps_is_pytorchs():
    x = torch.tensor([1e-3, -1e-3, 2e-3], dtype=torch.float64)  # so small that eps matters
    torch.testing.assert_close(LayerNorm(3).double()(x), nn.LayerNorm(3).double()(x), **EXACT)


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


def test_law_post_norm_normalizes_the_sum_and_pre_norm_the_sublayers_input(draw, randomized):
    x = draw(BATCH, TOKENS, D_MODEL)
    sublayer = randomized(nn.Linear(D_MODEL, D_MODEL))
    post, pre = (randomized(kind(D_MODEL, 0.0)) for kind in (PostNorm, PreNorm))
    torch.testing.assert_close(post(x, sublayer), post.norm(x + sublayer(x)), **EXACT)
    torch.testing.assert_close(pre(x, sublayer), x + sublayer(pre.norm(x)), **EXACT)


def test_law_with_a_sublayer_that_outputs_zeros_only_the_residual_remains(draw):
    x = draw(BATCH, TOKENS, D_MODEL)
    post, pre = (kind(D_MODEL, 0.0).double() for kind in (PostNorm, PreNorm))
    assert torch.equal(pre(x, torch.zeros_like), x)
    assert torch.equal(post(x, torch.zeros_like), post.norm(x))


@pytest.mark.parametrize("kind", [PostNorm, PreNorm])
def test_law_dropout_is_applied_only_to_the_output_of_the_sublayer(draw, kind):
    x, surround = draw(BATCH, TOKENS, D_MODEL), kind(D_MODEL, 0.25).double()
    dropped = []
    surround.dropout.register_forward_hook(lambda module, inputs, out: dropped.append((inputs[0], out)))
    received = []

    def sublayer(y):
        received.append(y)
        return torch.ones_like(y)

    out = surround(x, sublayer)
    (before, after), *others = dropped
    assert not others
    assert torch.equal(before, torch.ones_like(x))
    assert set(after.unique().tolist()) == {0, 1 / 0.75}
    expected_input = x if kind is PostNorm else surround.norm(x)
    assert torch.equal(received[0], expected_input)
    torch.testing.assert_close(out, surround.norm(x + after) if kind is PostNorm else x + after, **EXACT)
    assert torch.equal(surround.eval()(x, sublayer), surround(x, sublayer))
    assert not torch.equal(surround(x, sublayer), out)


@pytest.mark.message
@pytest.mark.parametrize("width", [1, 5])  # a single feature would broadcast to seven
def test_message_tokens_of_the_wrong_width(width):
    with pytest.raises(ValueError, match=rf"x has {width} features, this norm has d_model=7; give tokens of"):
        LayerNorm(7)(torch.zeros(2, 3, width))
