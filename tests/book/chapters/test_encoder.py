"""Pooling: the mean over the words, regardless of the padding and of the word order."""

import pytest
import torch

from annotated_transformer.book.chapters.encoder.pooling import PooledHead, mean_pool
from annotated_transformer.model.positional_encoding import SinusoidalPositions

BATCH, TOKENS, D_MODEL, OUTPUTS = 3, 5, 8, 2
EXACT = {"rtol": 1e-12, "atol": 1e-12}
LENGTHS = (5, 2, 1)
IS_WORD = torch.arange(TOKENS) < torch.tensor(LENGTHS)[:, None]


@pytest.mark.equation("eq-mean-pool")
def test_law_the_prediction_is_the_mean_over_the_words_of_a_linear_map(draw, randomized):
    z, head = draw(BATCH, TOKENS, D_MODEL), randomized(PooledHead(D_MODEL, OUTPUTS))
    found = head(z.masked_fill(~IS_WORD[..., None], torch.nan), IS_WORD)
    assert found.shape == (BATCH, OUTPUTS)
    for i, length in enumerate(LENGTHS):
        each = z[i, :length] @ head.linear.weight.T + head.linear.bias
        torch.testing.assert_close(found[i], each.mean(dim=0), **EXACT)


@pytest.mark.equation("eq-order-lost")
def test_law_the_mean_of_embeddings_plus_positions_does_not_depend_on_word_order(draw):
    x, order = draw(1, TOKENS, D_MODEL), torch.tensor([3, 0, 4, 1, 2])
    positions, all_words = SinusoidalPositions(D_MODEL, TOKENS).double(), torch.ones(1, TOKENS).bool()
    one, other = positions(x), positions(x[:, order])
    torch.testing.assert_close(mean_pool(one, all_words), mean_pool(other, all_words), **EXACT)
    table = positions(torch.zeros_like(x))
    torch.testing.assert_close(mean_pool(one, all_words), x.mean(1) + table.mean(1), **EXACT)
    nonlinear = mean_pool(one.relu(), all_words) - mean_pool(other.relu(), all_words)
    assert nonlinear.abs().max() > 0.01
