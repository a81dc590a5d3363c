"""Attention: its equations, laws, oracles, and error messages."""

import copy
import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from annotated_transformer.model.attention import (
    AdditiveAttention,
    FusedAttention,
    ScaledDotProductAttention,
    attention_weights,
)
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from tests.model.conftest import (
    BATCH,
    D_K,
    D_MODEL,
    D_V,
    EXACT,
    HEADS,
    KEYS,
    MASKS,
    QUERIES,
    some_mask,
    with_masks,
)

attention = ScaledDotProductAttention()


@pytest.fixture
def qkv(draw):
    shapes = (QUERIES, D_K), (KEYS, D_K), (KEYS, D_V)
    return tuple(draw(BATCH, HEADS, *shape) for shape in shapes)


def blind_mask():
    mask = some_mask(QUERIES, KEYS)
    mask[3] = False
    return mask


@pytest.mark.equation("eq-score-variance")
@pytest.mark.parametrize("d_k", [4, 64])
def test_law_the_score_of_independent_unit_components_has_mean_0_and_variance_d_k(d_k, draw):
    score = (draw(10_000, d_k) * draw(10_000, d_k)).sum(dim=1)
    assert abs(score.mean()) < 4 * math.sqrt(d_k / 10_000)  # four standard errors
    assert score.var() == pytest.approx(d_k, rel=0.05)
    assert (score / math.sqrt(d_k)).var() == pytest.approx(1, rel=0.05)


@pytest.mark.equation("eq-attention", "eq-masked-attention")
@with_masks
def test_law_attention_is_the_softmax_of_scaled_products_plus_the_mask_times_the_values(qkv, mask):
    query, key, value = qkv
    added = torch.zeros(()) if mask is None else torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    weights = torch.softmax(query @ key.mT / math.sqrt(D_K) + added, dim=-1)
    torch.testing.assert_close(attention(query, key, value, mask), weights @ value, **EXACT)


@pytest.mark.equation("eq-one-head-error")
@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_law_one_head_loses_half_the_variance_of_two_values_whatever_its_weights(alpha, draw):
    total = alpha**2 + (1 - alpha) ** 2
    errors = (1 - alpha) ** 2 / total, alpha**2 / total
    assert sum(errors) / 2 == pytest.approx(0.5, abs=1e-12)
    query = torch.ones(50_000, 1, 1).double()
    key = torch.tensor([[alpha], [1 - alpha]]).double().log().expand(50_000, 2, 1)
    values = draw(50_000, 2, 1)
    head = attention(query, key, values)[:, 0]  # all that a single head passes on from the two
    for value, error in zip(values.unbind(dim=1), errors, strict=True):
        read_out = torch.linalg.lstsq(head, value).solution
        assert (head @ read_out - value).square().mean().item() == pytest.approx(error, abs=0.02)


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_law_a_fully_masked_query_passes_anomaly_detection(qkv):
    inputs = [x.requires_grad_() for x in qkv]
    with torch.autograd.detect_anomaly(check_nan=True):
        attention(*inputs, blind_mask()).sum().backward()


def test_law_a_hook_can_observe_the_weights_and_no_module_stores_them(tokens, randomized):
    layer = randomized(MultiHeadAttention(D_MODEL, HEADS))
    before = set(vars(layer.attention)) | set(vars(layer))
    seen = []
    handle = layer.attention.weights.register_forward_hook(lambda module, inputs, out: seen.append(out))
    layer(*tokens, MASKS["all four"])
    handle.remove()
    layer(*tokens)
    assert len(seen) == 1
    query, (key, _) = layer.project_query(tokens[0]), layer.project_memory(*tokens[1:])
    assert torch.equal(seen[0], attention_weights(query, key, MASKS["all four"]))
    assert set(vars(layer.attention)) | set(vars(layer)) == before
    assert not any(isinstance(x, torch.Tensor) for m in layer.modules() for x in vars(m).values())
    assert list(FusedAttention().modules()) != list(ScaledDotProductAttention().modules())


@pytest.mark.parametrize("ours", [attention, FusedAttention()], ids=["formula", "fused"])
@pytest.mark.parametrize("mask", [*MASKS.values(), blind_mask()], ids=[*MASKS, "blind query"])
def test_oracle_attention_matches_pytorch(qkv, mask, ours, assert_same):
    def math_only(query, key, value):
        with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
            return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)

    assert_same(lambda q, k, v: ours(q, k, v, mask), math_only, qkv)


@pytest.mark.equation("eq-additive")
@pytest.mark.parametrize("mask", [None, some_mask(QUERIES, KEYS)], ids=["no mask", "mask"])
def test_oracle_additive_attention_matches_a_loop_over_pairs(draw, randomized, assert_same, mask):
    ours = randomized(AdditiveAttention(D_K, 17, hidden=19))
    theirs = copy.deepcopy(ours)

    def loop(query, key, value):
        rows = []
        for i in range(QUERIES):
            visible = [j for j in range(KEYS) if mask is None or mask[i, j]]
            hidden = [theirs.to_query.weight @ query[i] + theirs.to_key.weight @ key[j] for j in visible]
            weights = torch.softmax(torch.cat([theirs.to_score.weight @ h.tanh() for h in hidden]), dim=0)
            rows.append(sum(w * value[j] for w, j in zip(weights, visible, strict=True)))
        return torch.stack(rows)

    found = [(t, [o]) for t, o in zip(theirs.parameters(), ours.parameters(), strict=True)]
    inputs = draw(QUERIES, D_K), draw(KEYS, 17), draw(KEYS, D_V)
    assert_same(lambda *x: ours(*x, mask), loop, inputs, found)


@pytest.mark.message
@pytest.mark.parametrize("inner", [attention, FusedAttention()])
@pytest.mark.parametrize(("asking", "read"), [(2, 1), (1, 2)])
def test_message_query_and_key_have_different_batch_sizes(inner, asking, read):
    query, memory = torch.zeros(asking, QUERIES, D_MODEL), torch.zeros(read, KEYS, D_MODEL)
    sentence = f"query holds {asking} sentences and key {read}; give equal batches"
    with pytest.raises(ValueError, match=sentence):
        MultiHeadAttention(D_MODEL, HEADS, attention=inner)(query, memory, memory)


@pytest.mark.message
@pytest.mark.parametrize(("keys", "values"), [(7, 5), (5, 7)])
def test_message_different_numbers_of_keys_and_values(keys, values):
    with pytest.raises(ValueError, match=f"{keys} keys but {values} values; give each key its value"):
        FusedAttention()(torch.zeros(3, 4), torch.zeros(keys, 4), torch.zeros(values, 6))


@pytest.mark.message
@pytest.mark.parametrize("module", [attention, FusedAttention(), AdditiveAttention(4, 4, 5)])
def test_message_a_mask_of_numbers_is_refused_not_guessed(module):
    sentence = "mask has dtype torch.uint8, .*; give a torch.bool mask, True where a query may attend"
    with pytest.raises(TypeError, match=sentence):
        module(torch.zeros(3, 4), torch.zeros(5, 4), torch.zeros(5, 4), torch.ones(3, 5, dtype=torch.uint8))


@pytest.mark.message
@pytest.mark.parametrize("inner", [attention, FusedAttention()])
def test_message_a_mask_of_three_dimensions_is_ambiguous(inner):
    layer, x = MultiHeadAttention(12, 3, attention=inner), torch.zeros(2, 5, 12)
    sentence = (
        r"mask of shape \(2, 5, 5\) has 3 dimensions where the scores, of shape \(2, 3, 5, 5\), have 4: "
        r"is its first one batch or heads\? Give \(queries, keys\) or \(batch, heads, queries, keys\)"
    )
    with pytest.raises(ValueError, match=sentence):
        layer(x, x, x, torch.ones(2, 5, 5, dtype=torch.bool))


@pytest.mark.message
@pytest.mark.parametrize("shape", [(7, 5), (2, 3, 7, 5), (2, 2, 5, 7), (3, 1, 1, 7)])
def test_message_a_mask_that_does_not_broadcast_to_the_scores(shape):
    """Not to the scores: a mask with more sentences would repeat them."""
    mask = torch.ones(shape, dtype=torch.bool)
    with pytest.raises(RuntimeError, match=rf"\[2, 3, 5, 7\].*{re.escape(str([*shape]))}"):
        attention_weights(torch.zeros(2, 3, 5, 4), torch.zeros(2, 3, 7, 4), mask)
    with pytest.raises(RuntimeError, match="must match the existing size"):
        attention_weights(torch.zeros(1, 3, 5, 4), torch.zeros(1, 3, 7, 4), mask)
