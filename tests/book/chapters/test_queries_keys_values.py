"""The lookups compute their equations."""

import math

import pytest
import torch

from annotated_transformer.book.chapters.queries_keys_values.soft_lookup import gaussian_average
from annotated_transformer.book.toy.lookup import LearnedLookup
from annotated_transformer.model.attention import attention_weights

EXACT = {"rtol": 1e-12, "atol": 1e-12}


# A different prime for every axis: a swapped or transposed axis cannot fit by luck.
BATCH, QUERIES, KEYS, D_X, D_CELL, D_K, D_V = 2, 3, 5, 7, 11, 13, 17


def mean(weights, values):
    """Return the weighted mean of the values; the weights need not sum to 1."""
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


@pytest.mark.equation("eq-nadaraya-watson")
@pytest.mark.parametrize("width", [0.5, 3.0])
def test_oracle_the_gaussian_average_matches_its_equation(draw, width):
    query, key, value = draw(BATCH, QUERIES, D_K), draw(BATCH, KEYS, D_K), draw(BATCH, KEYS, D_V)
    found = gaussian_average(query, key, value, width=width)
    for b in range(BATCH):
        for i in range(QUERIES):
            distances = [math.dist(query[b, i].tolist(), k.tolist()) for k in key[b]]
            weights = [math.exp(-(distance**2) / (2 * width**2)) for distance in distances]
            torch.testing.assert_close(found[b, i], mean(weights, value[b]), **EXACT)


@pytest.mark.equation("eq-gaussian-dot")
def test_law_for_keys_of_equal_norm_the_gaussian_reduces_to_dot_product_attention(draw):
    query, key, value = draw(QUERIES, D_K), draw(KEYS, D_K), draw(KEYS, D_V)
    width = 0.7
    scores = query @ key.T / width**2 - key.square().sum(dim=-1) / (2 * width**2)
    gaussian = gaussian_average(query, key, value, width=width)
    torch.testing.assert_close(scores.softmax(dim=-1) @ value, gaussian, **EXACT)
    alone = attention_weights(query * math.sqrt(D_K) / width**2, key) @ value
    assert (alone - gaussian).abs().max() > 0.01
    key = key / key.norm(dim=-1, keepdim=True)
    alone = attention_weights(query * math.sqrt(D_K) / width**2, key) @ value
    torch.testing.assert_close(alone, gaussian_average(query, key, value, width=width), **EXACT)


@pytest.mark.equation("eq-lookup", "eq-bilinear")
def test_oracle_a_learned_lookup_matches_its_equation_and_needs_one_matrix_for_the_scores(draw, randomized):
    x, cells = draw(BATCH, QUERIES, D_X), draw(BATCH, KEYS, D_CELL)
    lookup = randomized(LearnedLookup(D_X, D_CELL, d_k=D_K, d_v=D_V))
    found = lookup(x, cells)
    assert found.shape == (BATCH, QUERIES, D_V)
    to_query, to_key, to_value = (m.weight for m in (lookup.to_query, lookup.to_key, lookup.to_value))
    for b in range(BATCH):
        keys, values = [to_key @ cell for cell in cells[b]], [to_value @ cell for cell in cells[b]]
        for i in range(QUERIES):
            scores = [torch.dot(to_query @ x[b, i], k).item() / math.sqrt(D_K) for k in keys]
            weights = [math.exp(score) for score in scores]
            torch.testing.assert_close(found[b, i], mean(weights, values), **EXACT)
    m = to_query.T @ to_key
    one_matrix = (x @ m @ cells.mT / math.sqrt(D_K)).softmax(dim=-1) @ lookup.to_value(cells)
    torch.testing.assert_close(found, one_matrix, **EXACT)
