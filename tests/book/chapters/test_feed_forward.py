"""The hidden units that are read and changed."""

import torch

from annotated_transformer.book.chapters.feed_forward.hidden_units import hidden_units, largest
from annotated_transformer.model.encoder import Encoder, EncoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import PostNorm

BATCH, TOKENS, D_MODEL, D_FF, LAYERS = 2, 5, 6, 11, 3


def test_law_the_units_are_those_after_the_activation_bottom_up():
    norms = [[PostNorm(D_MODEL, 0.0) for _ in range(2)] for _ in range(LAYERS)]
    encoder = Encoder(
        [EncoderLayer(MultiHeadAttention(D_MODEL, 2), FeedForward(D_MODEL, D_FF), *pair) for pair in norms]
    )
    x = torch.randn(BATCH, TOKENS, D_MODEL)
    found = hidden_units(encoder, x)
    assert found.shape == (LAYERS, BATCH, TOKENS, D_FF)
    layer, network = encoder.layers[0], encoder.layers[0].feed_forward
    y = layer.add_norm_1(x, lambda z: layer.self_attention(z, z, z))
    assert torch.allclose(found[0], network.expand(y).relu())
    assert (found[0] != found[1]).any()
    assert not found.requires_grad
    assert not network.activation._forward_hooks


def test_law_the_largest_units_by_their_absolute_contribution_are_kept():
    network = FeedForward(D_MODEL, 3)
    with torch.no_grad():
        network.contract.weight.fill_(1.0)
        network.contract.weight[:, 0] *= 3
    hidden = torch.tensor([[2.0, -5.0, 3.0], [1.0, 5.0, -4.0]])
    assert largest(1)(network)(hidden).tolist() == [[2.0, 0.0, 0.0], [0.0, 5.0, 0.0]]
    assert largest(2)(network)(hidden).tolist() == [[2.0, -5.0, 0.0], [0.0, 5.0, -4.0]]
    assert torch.equal(largest(3)(network)(hidden), hidden)
