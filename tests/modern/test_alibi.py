"""ALiBi: the slopes of the paper, Hugging Face's form of the bias, and what a causal mask changes."""

import pytest
import torch

from annotated_transformer.model.attention import masked_softmax
from annotated_transformer.model.masks import causal_mask
from annotated_transformer.modern.alibi import ALiBi, alibi_slopes

TOKENS = 7


def distances():
    return torch.arange(TOKENS)[None, :] - torch.arange(TOKENS)[:, None]


def test_law_the_slopes_of_the_paper():
    assert alibi_slopes(8).tolist() == [2.0**-i for i in range(1, 9)]
    assert alibi_slopes(1).tolist() == [2.0**-8]
    torch.testing.assert_close(alibi_slopes(16)[0].item(), 2**-0.5, rtol=1e-6, atol=0)
    assert torch.equal(alibi_slopes(12)[:8], alibi_slopes(8))
    torch.testing.assert_close(alibi_slopes(12)[8:], alibi_slopes(16)[0::2][:4])


@pytest.mark.parametrize("num_heads", [1, 3, 8, 12, 16, 20])
def test_oracle_with_a_causal_mask_the_weights_are_those_of_hugging_faces_bloom(num_heads, draw):
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    scores = draw(2, num_heads, TOKENS, TOKENS)
    alibi = build_alibi_tensor(torch.ones(2, TOKENS), num_heads, torch.float32)  # slope times key position
    theirs = masked_softmax(scores + alibi.view(2, num_heads, 1, TOKENS), causal_mask(TOKENS))
    ours = masked_softmax(scores + ALiBi(num_heads)(distances()), causal_mask(TOKENS))
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_law_without_a_causal_mask_both_sides_are_alike_and_bias_by_key_position_is_another_function():
    bias = ALiBi(4)(distances())
    assert torch.equal(bias, bias.transpose(1, 2))
    by_position = alibi_slopes(4)[:, None, None] * torch.arange(TOKENS)
    scores = torch.zeros(4, TOKENS, TOKENS)
    assert (masked_softmax(scores + bias) - masked_softmax(scores + by_position)).abs().max() > 0.1
