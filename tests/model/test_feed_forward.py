"""The feed-forward network: two linear maps, applied to each token separately."""

import pytest
import torch
from torch import nn

from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention

BATCH, TOKENS, D_MODEL, D_FF = 2, 5, 7, 11
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.equation("eq-feed-forward", "eq-memory-cells")
def test_law_the_network_computes_the_papers_formula(draw, randomized):
    ffn, x = randomized(FeedForward(D_MODEL, D_FF)), draw(BATCH, TOKENS, D_MODEL)
    w_1, w_2 = ffn.expand.weight.T, ffn.contract.weight.T
    expected = torch.clamp(x @ w_1 + ffn.expand.bias, min=0) @ w_2 + ffn.contract.bias
    torch.testing.assert_close(ffn(x), expected, **EXACT)
    by_unit = ffn.contract.bias
    for key, bias, value in zip(w_1.T, ffn.expand.bias, w_2, strict=True):
        by_unit = by_unit + (x @ key + bias).clamp(min=0)[..., None] * value
    torch.testing.assert_close(by_unit, expected, **EXACT)


@pytest.mark.equation("eq-collapse")
def test_law_without_an_activation_the_network_is_one_affine_map_of_limited_rank(draw, randomized):
    ffn, x = randomized(FeedForward(D_MODEL, D_FF, nn.Identity())), draw(BATCH, TOKENS, D_MODEL)
    matrix = ffn.expand.weight.T @ ffn.contract.weight.T
    bias = ffn.expand.bias @ ffn.contract.weight.T + ffn.contract.bias
    torch.testing.assert_close(ffn(x), x @ matrix + bias, **EXACT)
    narrow = randomized(FeedForward(D_MODEL, 3))
    for made, rank in ((ffn, D_MODEL), (narrow, 3)):
        product = made.expand.weight.T @ made.contract.weight.T
        assert torch.linalg.matrix_rank(product) == rank


@pytest.mark.equation("eq-gelu")
def test_oracle_gelu_is_x_times_the_normal_distribution_function(draw):
    x = draw(TOKENS, D_FF)
    normal = torch.distributions.Normal(torch.tensor(0.0).double(), torch.tensor(1.0).double())
    torch.testing.assert_close(nn.GELU()(x), x * normal.cdf(x), **EXACT)


@pytest.mark.equation("eq-share")
@pytest.mark.parametrize(("d_ff", "attentions"), [(24, 1), (9, 2)])
def test_law_the_share_of_a_layers_matrices_follows_the_formula(d_ff, attentions):
    width = 6
    heads = [MultiHeadAttention(width, 2) for _ in range(attentions)]

    def size(*modules):
        return sum(p.numel() for module in modules for p in module.parameters() if p.dim() == 2)

    ffn, ratio = FeedForward(width, d_ff), d_ff / width
    assert size(ffn) / size(ffn, *heads) == pytest.approx(ratio / (2 * attentions + ratio))
