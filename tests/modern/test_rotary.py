"""Rotary positions: the chapter's rotation; `test_modern_parts` compares Hugging Face's, in halves."""

import pytest
import torch
from torch.nn import functional as F

from annotated_transformer.model.attention import FusedAttention, attention_weights
from annotated_transformer.model.masks import causal_mask
from annotated_transformer.model.positional_encoding import rotation
from annotated_transformer.modern.rotary import RotaryAttention, RotaryPositions

BATCH, HEADS, TOKENS, D_K = 2, 3, 11, 10
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.equation("eq-rotary")
def test_oracle_each_token_is_multiplied_by_the_rotation_of_its_position(draw):
    x = draw(BATCH, HEADS, TOKENS, D_K)
    rotated = RotaryPositions(D_K)(x, start=5)
    for place in range(TOKENS):
        # the chapter's matrix turns (sine, cosine), so it turns (first, second) the other way round
        expected = x[:, :, place] @ rotation(-(5 + place), D_K).T
        torch.testing.assert_close(rotated[:, :, place], expected, **EXACT)


def test_law_queries_and_keys_are_rotated_and_values_are_not(draw):
    query, key, value = (draw(BATCH, HEADS, TOKENS, D_K) for _ in range(3))  # values could be rotated, too
    rotary = RotaryPositions(D_K)
    mask = causal_mask(TOKENS)
    expected = attention_weights(rotary(query), rotary(key), mask) @ value
    heads = RotaryAttention(rotary)(query, key, value, mask)
    torch.testing.assert_close(heads, expected, **EXACT)
    fused = RotaryAttention(rotary, FusedAttention())(query, key, value, mask)
    torch.testing.assert_close(fused, expected, **EXACT)
    torch.testing.assert_close(heads[:, :, 0], value[:, :, 0], **EXACT)  # it attends to itself alone
    plain = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    assert (heads - plain).abs().max() > 0.1


def test_law_half_precision_has_the_angles_of_float32():
    x = torch.ones(4096, D_K, dtype=torch.bfloat16)
    rotated = RotaryPositions(D_K)(x)
    assert rotated.dtype == torch.bfloat16
    torch.testing.assert_close(rotated.float(), RotaryPositions(D_K)(x.float()), rtol=0, atol=0.01)
