"""The decoder: PyTorch's results, no access to future positions, and a memory that is read."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from annotated_transformer.model.decoder import Decoder, DecoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import PostNorm, PreNorm

BATCH, TGT, SRC, HEADS, D_MODEL, D_FF, LAYERS = 2, 5, 7, 3, 12, 17, 3
EXACT = {"rtol": 1e-12, "atol": 1e-12}

CAUSAL = torch.ones(TGT, TGT, dtype=torch.bool).tril()
TGT_WORDS = torch.arange(TGT) < torch.tensor([[TGT], [3]])
SRC_WORDS = torch.arange(SRC) < torch.tensor([[4], [SRC]])
TGT_PADDING, SRC_PADDING = TGT_WORDS[:, None, None, :], SRC_WORDS[:, None, None, :]

# Our masks (target, memory), and PyTorch's equivalent arguments, where True = may not attend.
THEIR_PADDING = {"tgt_key_padding_mask": ~TGT_WORDS, "memory_key_padding_mask": ~SRC_WORDS}
MASKS = {
    "no mask": (None, None, {}),
    "both": (CAUSAL & TGT_PADDING, SRC_PADDING, {"tgt_mask": ~CAUSAL, **THEIR_PADDING}),
}
with_masks = pytest.mark.parametrize(
    ("tgt_mask", "memory_mask", "theirs_masks"), MASKS.values(), ids=MASKS.keys()
)
with_norms = pytest.mark.parametrize("add_norm", [PostNorm, PreNorm])


def our_layer(add_norm):
    attentions = (MultiHeadAttention(D_MODEL, HEADS) for _ in range(2))
    add_norms = (add_norm(D_MODEL, 0.0) for _ in range(3))
    return DecoderLayer(*attentions, FeedForward(D_MODEL, D_FF), *add_norms)


def their_layer(add_norm):
    """Return PyTorch's layer; `copied` sets its attention biases to 0."""
    sizes = {"d_model": D_MODEL, "nhead": HEADS, "dim_feedforward": D_FF, "dropout": 0.0}
    return nn.TransformerDecoderLayer(**sizes, batch_first=True, norm_first=add_norm is PreNorm)


@pytest.fixture
def inputs(draw):
    return draw(BATCH, TGT, D_MODEL), draw(BATCH, SRC, D_MODEL)


@with_norms
@with_masks
def test_oracle_the_layer_matches_pytorch(
    inputs, randomized, copied, assert_same, add_norm, tgt_mask, memory_mask, theirs_masks
):
    ours, theirs = randomized(our_layer(add_norm)), their_layer(add_norm)
    found = copied(ours, theirs)
    assert_same(
        lambda x, memory: ours(x, memory, tgt_mask, memory_mask),
        lambda x, memory: theirs(x, memory, **theirs_masks),
        inputs,
        found,
    )


def readers(out, x):
    """Return, for each pair of positions, whether the derivative of y_i with respect to x_j is nonzero."""
    grads = [torch.autograd.grad(out[:, i].square().sum(), x, retain_graph=True)[0] for i in range(TGT)]
    return torch.stack([grad.abs().sum(dim=(0, 2)) != 0 for grad in grads])


@with_norms
def test_law_gradients_reach_past_positions_but_not_future_ones(inputs, randomized, add_norm):
    decoder = randomized(Decoder(our_layer(add_norm) for _ in range(LAYERS)))
    x, memory = inputs[0].requires_grad_(), inputs[1]
    assert torch.equal(readers(decoder(x, memory, CAUSAL), x), CAUSAL)
    assert readers(decoder(x, memory), x).all()


def test_law_every_position_reads_every_word_of_the_memory_and_no_padding(inputs, randomized):
    decoder = randomized(Decoder(our_layer(PostNorm) for _ in range(LAYERS)))
    x, memory = inputs[0], inputs[1].requires_grad_()
    out = decoder(x, memory, CAUSAL, SRC_PADDING)
    for i in range(TGT):
        (grad,) = torch.autograd.grad(out[:, i].square().sum(), memory, retain_graph=True)
        assert torch.equal(grad.abs().sum(dim=-1) != 0, SRC_WORDS)


@pytest.mark.equation("eq-cross-attention")
def test_oracle_a_head_of_cross_attention_matches_its_equation():
    attend = MultiHeadAttention(D_MODEL, 1, d_k=11, d_v=13).double()
    x, z = (torch.randn(TGT, D_MODEL, dtype=torch.float64), torch.randn(SRC, D_MODEL, dtype=torch.float64))
    hidden = torch.zeros(1, SRC, dtype=torch.float64).masked_fill(~SRC_WORDS[:1], -torch.inf)
    w_query, w_key, w_value, w_output = (
        part.weight.T for part in (attend.to_query, attend.to_key, attend.to_value, attend.to_output)
    )
    scores = (x @ w_query) @ (z @ w_key).T / 11**0.5 + hidden
    raised = scores.exp()
    wanted = raised / raised.sum(dim=1, keepdim=True) @ (z @ w_value)
    assert wanted.shape == (TGT, 13)
    found = attend(x[None], z[None], z[None], SRC_WORDS[:1])[0]
    torch.testing.assert_close(found, wanted @ w_output, **EXACT)


@pytest.mark.equation("eq-memory-order")
def test_law_cross_attention_does_not_see_the_order_of_the_memory():
    attend = MultiHeadAttention(D_MODEL, HEADS).double()
    x, z = (torch.randn(1, tokens, D_MODEL, dtype=torch.float64) for tokens in (TGT, SRC))
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    before = attend(x, z, z, SRC_WORDS[:1])
    moved = z[:, order]
    torch.testing.assert_close(attend(x, moved, moved, SRC_WORDS[:1, order]), before, **EXACT)
    assert (attend(x, moved, moved, SRC_WORDS[:1]) - before).abs().max() > 1e-3  # the mask must move, too


@pytest.mark.equation("eq-decoder-layer")
def test_oracle_the_layer_matches_its_equation(inputs, randomized):
    attentions = (MultiHeadAttention(D_MODEL, 1) for _ in range(2))
    norms = [PostNorm(D_MODEL, 0.0) for _ in range(3)]
    layer, (x, z) = randomized(DecoderLayer(*attentions, FeedForward(D_MODEL, D_FF), *norms)), inputs

    def attend(part, x, read, mask):
        query, key, value = part.to_query(x), part.to_key(read), part.to_value(read)
        return part.to_output(F.scaled_dot_product_attention(query, key, value, attn_mask=mask))

    def normed(number, x):
        return F.layer_norm(x, (D_MODEL,), norms[number].norm.gain, norms[number].norm.bias)

    a = normed(0, x + attend(layer.self_attention, x, x, CAUSAL))
    b = normed(1, a + attend(layer.cross_attention, a, z, SRC_PADDING[:, 0]))
    network = layer.feed_forward
    wanted = normed(2, b + network.contract(network.expand(b).relu()))
    torch.testing.assert_close(layer(x, z, CAUSAL, SRC_PADDING), wanted, **EXACT)


@pytest.mark.equation("eq-prefix")
@with_norms
def test_law_the_first_rows_of_one_pass_are_those_of_the_prefix(inputs, randomized, add_norm):
    decoder, (x, z) = randomized(Decoder(our_layer(add_norm) for _ in range(LAYERS))), inputs
    whole, bare = decoder(x, z, CAUSAL), decoder(x, z)
    for t in range(1, TGT):
        prefix = decoder(x[:, :t], z, CAUSAL[:t, :t])
        torch.testing.assert_close(whole[:, :t], prefix, **EXACT)
        assert (bare[:, :t] - decoder(x[:, :t], z)).abs().max() > 1e-3  # not without the mask


def test_law_each_part_of_a_layer_has_the_name_of_its_place():
    attentions = [MultiHeadAttention(D_MODEL, HEADS) for _ in range(2)]
    add_norms = [PostNorm(D_MODEL, 0.0) for _ in range(3)]
    layer = DecoderLayer(*attentions, FeedForward(D_MODEL, D_FF), *add_norms)
    assert [layer.self_attention, layer.cross_attention] == attentions
    assert [layer.add_norm_1, layer.add_norm_2, layer.add_norm_3] == add_norms
