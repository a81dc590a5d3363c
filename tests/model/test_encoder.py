"""The encoder: PyTorch's results, dropout, and layers with weights of their own."""

import pytest
import torch
from torch import nn

from annotated_transformer.model.encoder import Encoder, EncoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import LayerNorm, PostNorm, PreNorm

BATCH, TOKENS, HEADS, D_MODEL, D_FF, LAYERS = 2, 7, 3, 12, 17, 3
EXACT = {"rtol": 1e-12, "atol": 1e-12}

CAUSAL = torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril()
WORDS = torch.arange(TOKENS) < torch.tensor([[TOKENS], [4]])  # the second sentence has 4 words
PADDING = WORDS[:, None, None, :]

# Our mask, and PyTorch's two equivalent arguments, where True = may not attend.
MASKS = {"no mask": (None, {}), "both": (CAUSAL & PADDING, {"mask": ~CAUSAL, "src_key_padding_mask": ~WORDS})}
with_masks = pytest.mark.parametrize(("mask", "theirs_masks"), MASKS.values(), ids=MASKS.keys())
with_norms = pytest.mark.parametrize("add_norm", [PostNorm, PreNorm])


def our_layer(add_norm):
    parts = MultiHeadAttention(D_MODEL, HEADS), FeedForward(D_MODEL, D_FF)
    return EncoderLayer(*parts, add_norm(D_MODEL, 0.0), add_norm(D_MODEL, 0.0))


def their_layer(add_norm):
    """Return PyTorch's layer; `copied` sets its attention biases to 0."""
    sizes = {"d_model": D_MODEL, "nhead": HEADS, "dim_feedforward": D_FF, "dropout": 0.0}
    return nn.TransformerEncoderLayer(**sizes, batch_first=True, norm_first=add_norm is PreNorm)


@pytest.fixture
def x(draw):
    return draw(BATCH, TOKENS, D_MODEL)


@with_norms
@with_masks
def test_oracle_the_layer_matches_pytorch(x, randomized, copied, assert_same, add_norm, mask, theirs_masks):
    ours, theirs = randomized(our_layer(add_norm)), their_layer(add_norm)
    found = copied(ours, theirs)
    names = {"mask": "src_mask"}
    arguments = {names.get(name, name): value for name, value in theirs_masks.items()}
    assert_same(lambda x: ours(x, mask), lambda x: theirs(x, **arguments), (x,), found)


@with_norms
@pytest.mark.parametrize("final", [False, True], ids=["no final norm", "final norm"])
def test_oracle_the_stack_matches_pytorch(x, randomized, copied, assert_same, add_norm, final):
    mask, theirs_masks = MASKS["both"]
    layers = [our_layer(add_norm) for _ in range(LAYERS)]
    ours = randomized(Encoder(layers, LayerNorm(D_MODEL) if final else None))
    norm = nn.LayerNorm(D_MODEL) if final else None
    theirs = nn.TransformerEncoder(their_layer(add_norm), LAYERS, norm, enable_nested_tensor=False)
    found = copied(ours, theirs)
    assert_same(lambda x: ours(x, mask), lambda x: theirs(x, **theirs_masks), (x,), found)


@pytest.mark.equation("eq-encoder-layer")
def test_law_a_layer_applies_dropout_residual_and_norm_after_each_sublayer(x, randomized):
    layer = randomized(our_layer(PostNorm))
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
def test_law_every_layer_has_its_own_weights(x, randomized):
    encoder = randomized(Encoder(our_layer(PostNorm) for _ in range(LAYERS)))
    one = sum(p.numel() for p in encoder.layers[0].parameters())
    assert sum(p.numel() for p in encoder.parameters()) == LAYERS * one
    seen = []
    for layer in encoder.layers:
        layer.register_forward_hook(lambda module, inputs, out: seen.append((inputs[0], out)))
    out = encoder(x)
    assert torch.equal(seen[0][0], x)
    assert all(torch.equal(seen[i][1], seen[i + 1][0]) for i in range(LAYERS - 1))
    assert torch.equal(seen[-1][1], out)


def test_law_each_norm_of_a_layer_has_the_name_of_its_place():
    add_norms = [PostNorm(D_MODEL, 0.0) for _ in range(2)]
    layer = EncoderLayer(MultiHeadAttention(D_MODEL, HEADS), FeedForward(D_MODEL, D_FF), *add_norms)
    assert [layer.add_norm_1, layer.add_norm_2] == add_norms
