"""Attention with a bias by distance: the formula, PyTorch's fused kernel."""

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.model.masks import causal_mask
from annotated_transformer.modern.alibi import ALiBi
from annotated_transformer.modern.biased_attention import BiasedAttention
from annotated_transformer.modern.distances import distances
from annotated_transformer.modern.relative_bias import BucketedBias, RelativeBias

BATCH, HEADS, TOKENS, D_K, D_V = 2, 3, 11, 5, 7
EXACT = {"rtol": 1e-12, "atol": 1e-12}
BIASES = [ALiBi(HEADS), RelativeBias(HEADS, 3), BucketedBias(HEADS, 8, 16, causal=True)]


@pytest.mark.parametrize("mask", [torch.ones(TOKENS, TOKENS, dtype=torch.bool), causal_mask(TOKENS)])
def test_oracle_a_bias_is_an_additive_mask_of_pytorchs_kernel(draw, randomized, mask):
    query, key, value = draw(BATCH, HEADS, TOKENS, D_K), draw(2, 3, TOKENS, D_K), draw(2, 3, TOKENS, D_V)
    plain = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    for bias in BIASES:
        added = randomized(bias)(distances(query, key)).double().masked_fill(~mask, -torch.inf)
        assert added.shape == (HEADS, TOKENS, TOKENS)
        expected = F.scaled_dot_product_attention(query, key, value, attn_mask=added)
        torch.testing.assert_close(BiasedAttention(bias)(query, key, value, mask), expected, **EXACT)
        assert (plain - expected).abs().max() > 0.1
