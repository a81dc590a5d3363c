"""The encoder: its equations; `test_transformer` compares the stack with PyTorch's."""

import pytest
import torch

from annotated_transformer.model.encoder import Encoder, EncoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import PostNorm

BATCH, TOKENS, HEADS, D_MODEL, D_FF, LAYERS = 2, 7, 3, 12, 17, 3
EXACT = {"rtol": 1e-12, "atol": 1e-12}


def our_layer():
    parts = MultiHeadAttention(D_MODEL, HEADS), FeedForward(D_MODEL, D_FF)
    return EncoderLayer(*parts, PostNorm(D_MODEL, 0.0), PostNorm(D_MODEL, 0.0))


@pytest.mark.equation("eq-encoder-layer")
def test_law_a_layer_applies_dropout_residual_and_norm_after_each_sublayer(draw, randomized):
    layer, x = randomized(our_layer()), draw(BATCH, TOKENS, D_MODEL)
    for surround in (layer.add_norm_1, layer.add_norm_2):
        surround.dropout.p = 0.3
    torch.manual_seed(0)
    found = layer(x)
    torch.manual_seed(0)
    dropped = torch.nn.functional.dropout(layer.self_attention(x, x, x), p=0.3)
    y = layer.add_norm_1.norm(x + dropped)
    again = torch.nn.functional.dropout(layer.feed_forward(y), p=0.3)
    assert (dropped == 0).any()
    assert (again == 0).any()
    torch.testing.assert_close(found, layer.add_norm_2.norm(y + again), **EXACT)


@pytest.mark.equation("eq-encoder-stack")
def test_law_every_layer_has_its_own_weights(draw, randomized):
    x = draw(BATCH, TOKENS, D_MODEL)
    encoder = randomized(Encoder(our_layer() for _ in range(LAYERS)))
    one = sum(p.numel() for p in encoder.layers[0].parameters())
    assert sum(p.numel() for p in encoder.parameters()) == LAYERS * one
    seen = []
    for layer in encoder.layers:
        layer.register_forward_hook(lambda module, inputs, out: seen.append((inputs[0], out)))
    out = encoder(x)
    assert torch.equal(seen[0][0], x)
    assert all(torch.equal(seen[i][1], seen[i + 1][0]) for i in range(LAYERS - 1))
    assert torch.equal(seen[-1][1], out)
