"""Multi-head attention: its equation, PyTorch's results, and error messages."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.attention import FusedAttention
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.transformer import Transformer
from tests.model.conftest import BATCH, D_MODEL, EXACT, HEADS, KEYS, QUERIES, with_masks


def head_by_hand(layer, i, query, key, value):
    """Return one head of a multi-head layer: its own three projections, then attention."""
    d_k = layer.to_query.out_features // layer.num_heads
    d_v = layer.to_value.out_features // layer.num_heads
    w_query, w_key = (p.weight[i * d_k : (i + 1) * d_k].T for p in (layer.to_query, layer.to_key))
    w_value = layer.to_value.weight[i * d_v : (i + 1) * d_v].T
    return F.scaled_dot_product_attention(query @ w_query, key @ w_key, value @ w_value)


FREE_WIDTHS = {"d_k": 5, "d_v": 11}


@pytest.mark.equation("eq-head", "eq-multi-head", "eq-sum-of-heads")
@pytest.mark.parametrize("widths", [{}, FREE_WIDTHS, {"d_k": 5}, {"d_v": 11}])
def test_law_multi_head_is_the_concatenated_heads_times_the_output_matrix(tokens, randomized, widths):
    layer = randomized(MultiHeadAttention(D_MODEL, HEADS, **widths))
    d_k, d_v = widths.get("d_k", 4), widths.get("d_v", 4)
    assert layer.to_query.out_features == layer.to_key.out_features == HEADS * d_k
    observed = []
    layer.attention.register_forward_hook(lambda module, inputs, heads: observed.append(heads))
    output = layer(*tokens)
    heads = [head_by_hand(layer, i, *tokens) for i in range(HEADS)]
    torch.testing.assert_close(observed[0], torch.stack(heads, dim=1), **EXACT)
    w_output = layer.to_output.weight.T
    torch.testing.assert_close(output, torch.cat(heads, dim=-1) @ w_output, **EXACT)
    terms = [head @ block for head, block in zip(heads, w_output.split(d_v), strict=True)]
    torch.testing.assert_close(output, sum(terms), **EXACT)
    assert min(term.abs().max() for term in terms) > 0.1


@pytest.mark.parametrize("inner", [None, FusedAttention()], ids=["ours", "fused"])
@pytest.mark.parametrize("bias", [False, True])
@with_masks
def test_oracle_multi_head_matches_pytorch(tokens, randomized, copied, assert_same, bias, mask, inner):
    ours = randomized(MultiHeadAttention(D_MODEL, HEADS, attention=inner, bias=bias))
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, bias=bias, batch_first=True)
    found = copied(ours, theirs)
    if mask is None or mask.ndim == 2:
        their_mask = None if mask is None else ~mask
    else:  # theirs has shape (batch · heads, queries, keys), and True = may not attend
        their_mask = ~mask.expand(BATCH, HEADS, QUERIES, KEYS).flatten(0, 1)
    assert_same(
        lambda *x: ours(*x, mask),
        lambda *x: theirs(*x, attn_mask=their_mask, need_weights=False)[0],
        tokens,
        found,
    )


@pytest.mark.message
@pytest.mark.parametrize("widths", [{}, {"d_k": 4}, {"d_v": 7}])
@pytest.mark.parametrize("num_heads", [5, 0, -2])
def test_message_an_invalid_number_of_heads_lists_the_valid_ones(num_heads, widths):
    sentence = rf"into num_heads={num_heads} equal .* \[1, 2, 3, 4, 6, 12\], or give both d_k and d_v"
    with pytest.raises(ValueError, match=sentence):
        MultiHeadAttention(12, num_heads, **widths)
    assert MultiHeadAttention(12, 5, d_k=4, d_v=7).to_output.in_features == 35  # the message's alternative


@pytest.fixture(scope="module")
def parts() -> dict[str, nn.Module]:
    model = Transformer(TransformerConfig(vocab_size=11, d_model=12, d_ff=16, num_heads=3, num_layers=1))
    names = ("encoder", "decoder", "encoder.layers.0", "decoder.layers.0", "encoder.layers.0.self_attention")
    return {name: model.get_submodule(name) for name in names}


@pytest.mark.message
@pytest.mark.parametrize("path", ["encoder", "decoder", "encoder.layers.0", "decoder.layers.0"])
@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        (
            (5, 12),
            r"tokens of shape \(5, 12\) do not fit .* give \(batch, tokens, 12\); one sentence is x\[None",
        ),
        (
            (2, 5, 7),
            r"tokens of shape \(2, 5, 7\) do not fit attention with d_model=12; give \(batch, tokens, 1",
        ),
    ],
)
def test_message_layers_and_stacks_name_the_shape_that_they_need(parts, path: str, shape, sentence: str):
    x, memory = torch.zeros(shape), torch.zeros(2, 3, 12)
    memories = [memory] if path.startswith("decoder") else []
    with pytest.raises(ValueError, match=f"^{sentence}"):
        parts[path](x, *memories)
    if memories:
        with pytest.raises(ValueError, match=f"^{sentence}"):
            parts[path](memory, x)


@pytest.mark.message
@pytest.mark.parametrize(
    ("shapes", "sentence"),
    [
        ([(5, 12)] * 3, r"tokens of shape \(5, 12\) do not fit attention with d_model=12; give \(batch, tok"),
        ([(2, 5, 12), (2, 3, 12), (2, 4, 12)], "3 keys but 4 values; give each key its value"),
        ([(2, 5, 12), (1, 3, 12), (1, 3, 12)], "query holds 2 sentences and key 1; give equal batches"),
        (
            [(2, 5, 12), (2, 3, 12), (1, 3, 12)],
            "key holds 2 sentences and value 1; give equal batches",
        ),
    ],
)
def test_message_attention_names_what_does_not_fit(parts, shapes, sentence: str):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        parts["encoder.layers.0.self_attention"](*map(torch.zeros, shapes))


@pytest.mark.message
def test_message_attention_leaves_other_errors_to_pytorch(parts):
    x = torch.zeros(2, 5, 12, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="dtype"):
        parts["encoder.layers.0.self_attention"](x, x, x)
