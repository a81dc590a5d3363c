"""Grouped queries: their parameters and their cache; `test_modern_parts` compares Hugging Face's."""

import pytest
import torch

from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.modern.grouped_query_attention import GroupedQueryAttention, cached_numbers

HEADS, KEYS, D_MODEL = 6, 7, 24


@pytest.mark.equation("eq-grouped-cache")
def test_law_keys_and_values_have_fewer_parameters_and_a_smaller_cache():
    full, grouped = MultiHeadAttention(D_MODEL, HEADS), GroupedQueryAttention(D_MODEL, HEADS, 2, bias=True)
    assert grouped.to_key.weight.shape == grouped.to_value.weight.shape == (8, D_MODEL)
    assert grouped.to_value.bias.shape == (8,)
    keys, values = grouped.project_memory(*torch.zeros(2, 1, KEYS, D_MODEL))
    assert cached_numbers(grouped, KEYS) == keys.numel() + values.numel() == KEYS * 2 * 8
    assert cached_numbers(full, KEYS) == 3 * cached_numbers(grouped, KEYS)
