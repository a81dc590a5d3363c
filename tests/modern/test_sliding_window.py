"""Sliding windows: the band of the mask, and what a cache must hold."""

import torch

from annotated_transformer.model.attention import ScaledDotProductAttention
from annotated_transformer.model.masks import causal_mask
from annotated_transformer.modern.rotary import RotaryAttention, RotaryPositions
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


def test_law_only_the_last_keys_of_a_cache_are_needed(draw):
    """With rotary positions, too: they depend on the distance only, so earlier keys may be dropped."""
    key, value = draw(BATCH, HEADS, TOKENS, D_K), draw(BATCH, HEADS, TOKENS, D_K)
    query = key[:, :, -1:]
    attention = SlidingWindowAttention(WINDOW, RotaryAttention(RotaryPositions(D_K)))
    whole = attention(query, key, value)
    kept = attention(query, key[:, :, -WINDOW:], value[:, :, -WINDOW:])
    torch.testing.assert_close(kept, whole, rtol=1e-10, atol=1e-10)
    fewer = attention(query, key[:, :, 1 - WINDOW :], value[:, :, 1 - WINDOW :])
    assert (fewer - whole).abs().max() > 0.01
