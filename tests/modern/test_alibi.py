"""ALiBi: with a causal mask, Hugging Face's form of the bias has the same weights."""

import pytest
import torch

from annotated_transformer.model.attention import masked_softmax
from annotated_transformer.model.masks import causal_mask
from annotated_transformer.modern.alibi import ALiBi
from annotated_transformer.modern.distances import distances

TOKENS = 7


@pytest.mark.parametrize("num_heads", [1, 3, 8, 12, 16, 20])
def test_oracle_with_a_causal_mask_the_weights_are_those_of_hugging_faces_bloom(num_heads, draw):
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    scores = draw(2, num_heads, TOKENS, TOKENS)
    alibi = build_alibi_tensor(torch.ones(2, TOKENS), num_heads, torch.float32)  # slope times key position
    theirs = masked_softmax(scores + alibi.view(2, num_heads, 1, TOKENS), causal_mask(TOKENS))
    ours = masked_softmax(scores + ALiBi(num_heads)(distances(scores, scores)), causal_mask(TOKENS))
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
