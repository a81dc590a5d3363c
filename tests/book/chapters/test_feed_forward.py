"""The hidden units that are read and changed, and the words that a line misjudges."""

import pytest
import torch
from torch import Tensor

from annotated_transformer.book.chapters.feed_forward.figures import best_line, misjudged
from annotated_transformer.book.chapters.feed_forward.hidden_units import (
    hidden_units,
    largest,
)
from annotated_transformer.model.encoder import Encoder, EncoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import PostNorm

BATCH, TOKENS, D_MODEL, D_FF, LAYERS = 2, 5, 6, 11, 3


@pytest.fixture
def encoder() -> Encoder:
    torch.manual_seed(0)
    norms = [[PostNorm(D_MODEL, 0.0) for _ in range(2)] for _ in range(LAYERS)]
    return Encoder(
        [EncoderLayer(MultiHeadAttention(D_MODEL, 2), FeedForward(D_MODEL, D_FF), *pair) for pair in norms]
    )


@pytest.fixture
def x() -> Tensor:
    return torch.randn(BATCH, TOKENS, D_MODEL, generator=torch.Generator().manual_seed(1))


def test_law_the_units_are_those_after_the_activation_bottom_up(encoder, x):
    found = hidden_units(encoder, x)
    assert found.shape == (LAYERS, BATCH, TOKENS, D_FF)
    layer, network = encoder.layers[0], encoder.layers[0].feed_forward
    y = layer.add_norm_1(x, lambda z: layer.self_attention(z, z, z))
    assert torch.allclose(found[0], network.expand(y).relu())
    assert (found[0] != found[1]).any()
    assert not found.requires_grad
    assert not network.activation._forward_hooks


def test_law_the_largest_units_by_their_contribution_are_kept(x):
    network = FeedForward(D_MODEL, D_FF)
    with torch.no_grad():
        network.contract.weight[:, 3] *= 100
    hidden = network.activation(network.expand(x))
    kept = largest(2)(network)(hidden)
    sizes = hidden * network.contract.weight.norm(dim=0)
    for row, result, size in zip(hidden.flatten(0, 1), kept.flatten(0, 1), sizes.flatten(0, 1), strict=True):
        order = size.argsort(descending=True)
        assert torch.equal(result[order[:2]], row[order[:2]])
        assert not result[order[2:]].any()
    assert (hidden[..., 3] > 0).any()
    assert torch.equal(kept[..., 3], hidden[..., 3])
    assert torch.equal(largest(D_FF)(network)(hidden), hidden)


def test_law_units_are_ranked_by_absolute_contribution():
    network = FeedForward(D_MODEL, 3)
    with torch.no_grad():
        network.contract.weight.fill_(1.0)
    assert largest(1)(network)(torch.tensor([[1.0, -5.0, 2.0]])).tolist() == [[0.0, -5.0, 0.0]]


@pytest.mark.parametrize("angle", [0.0, 30.0, 45.0, 60.0, 120.0, 135.0, 200.0])
def test_law_the_best_line_misjudges_one_word_or_two_if_it_is_parallel_to_an_axis(angle):
    assert len(misjudged(angle, *best_line(angle))) == (2 if angle % 90 == 0 else 1)
