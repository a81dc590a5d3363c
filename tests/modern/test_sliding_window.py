"""Sliding windows: the band of the mask, and the module."""

import torch

from annotated_transformer.model.attention import ScaledDotProductAttention
from annotated_transformer.model.masks import causal_mask
from annotated_transformer.modern.sliding_window import SlidingWindowAttention, sliding_window_mask

BATCH, HEADS, TOKENS, D_K, WINDOW = 2, 3, 11, 6, 4
EXACT = {"rtol": 1e-12, "atol": 1e-12}


def test_law_the_band_by_hand():
    expected = [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]
    assert sliding_window_mask(5, 2).int().tolist() == expected
    assert torch.equal(sliding_window_mask(5, 5), causal_mask(5))
    assert torch.equal(sliding_window_mask(5, 1), torch.eye(5, dtype=torch.bool))


def test_law_the_module_is_attention_with_the_band_as_its_mask(draw):
    query, key, value = (draw(BATCH, HEADS, TOKENS, D_K) for _ in range(3))
    plain, window = ScaledDotProductAttention(), SlidingWindowAttention(WINDOW)
    causal, band = causal_mask(TOKENS), sliding_window_mask(TOKENS, WINDOW)
    torch.testing.assert_close(window(query, key, value, causal), plain(query, key, value, band), **EXACT)
    both_sides = band | band.T
    torch.testing.assert_close(window(query, key, value), plain(query, key, value, both_sides), **EXACT)
    keys = torch.rand(BATCH, 1, 1, TOKENS) > 0.2
    expected = plain(query, key, value, band & keys)
    torch.testing.assert_close(window(query, key, value, causal & keys), expected, **EXACT)
