"""Grouped queries: multi-head attention with repeated keys and values, and the cache."""

import pytest
import torch

from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.modern.grouped_query_attention import GroupedQueryAttention, cached_numbers
from tests.model.conftest import some_mask

BATCH, HEADS, QUERIES, KEYS, D_MODEL = 2, 6, 5, 7, 24
EXACT = {"rtol": 1e-12, "atol": 1e-12}
TOKENS = (QUERIES, KEYS, KEYS)
groups = pytest.mark.parametrize("num_kv_heads", [1, 2, 3, 6])


def repeated(layer):
    full = MultiHeadAttention(D_MODEL, HEADS).double()
    for name in ("to_query", "to_output"):
        getattr(full, name).weight = getattr(layer, name).weight
    for name in ("to_key", "to_value"):
        heads = getattr(layer, name).weight.unflatten(0, (layer.num_kv_heads, -1))
        again = heads.repeat_interleave(HEADS // layer.num_kv_heads, dim=0).flatten(0, 1)
        getattr(full, name).weight = torch.nn.Parameter(again)
    return full


@groups
@pytest.mark.parametrize("mask", [None, some_mask(QUERIES, KEYS), some_mask(BATCH, HEADS, QUERIES, KEYS)])
def test_law_it_equals_multi_head_attention_with_repeated_keys_and_values(
    draw, randomized, num_kv_heads, mask
):
    layer = randomized(GroupedQueryAttention(D_MODEL, HEADS, num_kv_heads))
    x = [draw(BATCH, n, D_MODEL) for n in TOKENS]
    torch.testing.assert_close(layer(*x, mask), repeated(layer)(*x, mask), **EXACT)


@pytest.mark.equation("eq-grouped-cache")
def test_law_keys_and_values_have_fewer_parameters_and_a_smaller_cache():
    full, grouped = MultiHeadAttention(D_MODEL, HEADS), GroupedQueryAttention(D_MODEL, HEADS, 2, bias=True)
    assert grouped.to_key.weight.shape == grouped.to_value.weight.shape == (8, D_MODEL)
    assert grouped.to_value.bias.shape == (8,)
    keys, values = grouped.project_memory(*torch.zeros(2, 1, KEYS, D_MODEL))
    assert cached_numbers(grouped, KEYS) == keys.numel() + values.numel() == KEYS * 2 * 8
    assert cached_numbers(full, KEYS) == 3 * cached_numbers(grouped, KEYS)
