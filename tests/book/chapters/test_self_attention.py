"""Self-attention: its equations and its oracles."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.book.chapters.self_attention.self_attention import (
    SelfAttention,
    plain_self_attention,
)
from annotated_transformer.model.attention import attention_weights
from annotated_transformer.model.multi_head_attention import MultiHeadAttention

EXACT = {"rtol": 1e-12, "atol": 1e-12}
BATCH, TOKENS, D_MODEL, D_K, D_V = 2, 5, 7, 11, 13


@pytest.fixture
def layer(randomized):
    return randomized(SelfAttention(D_MODEL, D_K, D_V)).requires_grad_(False)


@pytest.mark.equation("eq-plain-self-attention")
def test_oracle_plain_self_attention_matches_a_double_loop(draw):
    x = draw(BATCH, TOKENS, 3)
    wanted = torch.zeros_like(x)
    for sentence, i in itertools.product(range(BATCH), range(TOKENS)):
        raised = [math.exp(x[sentence, i] @ x[sentence, j]) for j in range(TOKENS)]
        wanted[sentence, i] = torch.tensor(raised, dtype=x.dtype) / sum(raised) @ x[sentence]
    torch.testing.assert_close(plain_self_attention(x), wanted, **EXACT)
    theirs = F.scaled_dot_product_attention(x, x, x, scale=1.0)
    torch.testing.assert_close(plain_self_attention(x), theirs, **EXACT)


@pytest.mark.equation("eq-self-attention")
def test_oracle_self_attention_matches_its_equation_and_one_head_without_output_matrix(layer, draw):
    x = draw(BATCH, TOKENS, D_MODEL)
    w_query, w_key, w_value = (part.weight.T for part in (layer.to_query, layer.to_key, layer.to_value))
    scores = torch.einsum("bif,fk,gk,bjg->bij", x, w_query, w_key, x) / math.sqrt(D_K)
    raised = scores.exp()
    wanted = raised / raised.sum(dim=2, keepdim=True) @ x @ w_value
    assert wanted.shape == (BATCH, TOKENS, D_V)
    torch.testing.assert_close(layer(x), wanted, **EXACT)
    head = MultiHeadAttention(D_MODEL, 1, d_k=D_K, d_v=D_MODEL).double()
    square = SelfAttention(D_MODEL, D_K, D_MODEL).double()
    with torch.no_grad():
        for name in ("to_query", "to_key", "to_value"):
            getattr(head, name).weight.copy_(getattr(square, name).weight)
        head.to_output.weight.copy_(torch.eye(D_MODEL))
    torch.testing.assert_close(square(x), head(x, x, x), **EXACT)


@pytest.mark.equation("eq-self-equivariance")
def test_law_shuffled_words_have_shuffled_outputs(layer, draw):
    x, order = draw(BATCH, TOKENS, D_MODEL), torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(layer(x[:, order]), layer(x)[:, order], **EXACT)
    assert (layer(x[:, order]) - layer(x)).abs().max() > 0.1


@pytest.mark.equation("eq-ratio")
def test_law_a_third_word_does_not_change_the_ratio_of_two_weights(layer, draw):
    x = draw(1, TOKENS, D_MODEL)
    changed = x.clone()
    changed[0, 4] = draw(D_MODEL)
    before, after = (attention_weights(layer.to_query(y), layer.to_key(y))[0] for y in (x, changed))
    query, key = layer.to_query(x)[0], layer.to_key(x)[0]
    wanted = math.exp(query[2] @ (key[0] - key[1]) / math.sqrt(D_K))
    for weights in (before, after):
        assert (weights[2, 0] / weights[2, 1]).item() == pytest.approx(wanted, rel=1e-12)
    assert (before[2] - after[2]).abs().max() > 1e-3
