"""The decoder: its equations; `test_transformer` compares the stack with PyTorch's."""

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.model.decoder import Decoder, DecoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import PostNorm, PreNorm

BATCH, TGT, SRC, HEADS, D_MODEL, D_FF, LAYERS = 2, 5, 7, 3, 12, 17, 3
EXACT = {"rtol": 1e-12, "atol": 1e-12}

CAUSAL = torch.ones(TGT, TGT, dtype=torch.bool).tril()
SRC_WORDS = torch.arange(SRC) < torch.tensor([[4], [SRC]])
SRC_PADDING = SRC_WORDS[:, None, None, :]


def our_layer(add_norm, heads=HEADS, **widths):
    attentions = (MultiHeadAttention(D_MODEL, heads, **widths) for _ in range(2))
    return DecoderLayer(*attentions, FeedForward(D_MODEL, D_FF), *(add_norm(D_MODEL, 0.0) for _ in range(3)))


@pytest.fixture
def inputs(draw):
    return draw(BATCH, TGT, D_MODEL), draw(BATCH, SRC, D_MODEL)


@pytest.mark.equation("eq-memory-order")
def test_law_cross_attention_does_not_see_the_order_of_the_memory():
    attend = MultiHeadAttention(D_MODEL, HEADS).double()
    x, z = (torch.randn(1, tokens, D_MODEL, dtype=torch.float64) for tokens in (TGT, SRC))
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    before = attend(x, z, z, SRC_WORDS[:1])
    moved = z[:, order]
    torch.testing.assert_close(attend(x, moved, moved, SRC_WORDS[:1, order]), before, **EXACT)
    assert (attend(x, moved, moved, SRC_WORDS[:1]) - before).abs().max() > 1e-3  # the mask must move, too


@pytest.mark.equation("eq-decoder-layer", "eq-cross-attention")
def test_oracle_the_layer_matches_its_equation(inputs, randomized):
    layer, (x, z) = randomized(our_layer(PostNorm, heads=1, d_k=11, d_v=13)), inputs
    norms = layer.add_norm_1, layer.add_norm_2, layer.add_norm_3

    def attend(part, x, read, mask):
        query, key, value = part.to_query(x), part.to_key(read), part.to_value(read)
        scores = (query @ key.mT / 11**0.5).masked_fill(~mask, -torch.inf)
        return part.to_output(scores.softmax(dim=-1) @ value)

    def normed(number, x):
        return F.layer_norm(x, (D_MODEL,), norms[number].norm.gain, norms[number].norm.bias)

    a = normed(0, x + attend(layer.self_attention, x, x, CAUSAL))
    b = normed(1, a + attend(layer.cross_attention, a, z, SRC_PADDING[:, 0]))
    network = layer.feed_forward
    wanted = normed(2, b + network.contract(network.expand(b).relu()))
    torch.testing.assert_close(layer(x, z, CAUSAL, SRC_PADDING), wanted, **EXACT)


@pytest.mark.equation("eq-prefix")
@pytest.mark.parametrize("add_norm", [PostNorm, PreNorm])
def test_law_the_first_rows_of_one_pass_are_those_of_the_prefix(inputs, randomized, add_norm):
    decoder, (x, z) = randomized(Decoder(our_layer(add_norm) for _ in range(LAYERS))), inputs
    whole, bare = decoder(x, z, CAUSAL), decoder(x, z)
    for t in range(1, TGT):
        prefix = decoder(x[:, :t], z, CAUSAL[:t, :t])
        torch.testing.assert_close(whole[:, :t], prefix, **EXACT)
        assert (bare[:, :t] - decoder(x[:, :t], z)).abs().max() > 1e-3  # not without the mask
