"""The fast cache computes the same results as the plain cache."""

import pytest
import torch

from annotated_transformer.decoding.kv_cache import KeyValueCache
from annotated_transformer.fast import linear
from annotated_transformer.fast.kv_cache import BLOCK, FastKeyValueCache
from annotated_transformer.text.batching import pad
from tests.decoder_steps import KINDS, decode, some_targets


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("rows", [1, None])
def test_oracle_large_products_by_onednn_give_the_same_logits(stirred, sources, monkeypatch, changes, rows):
    """In float32, `FastKeyValueCache` computes large products with oneDNN; here, all of them."""
    monkeypatch.setattr(linear, "LARGE", 0)
    monkeypatch.setattr(linear, "CACHED", 0)
    sources = sources[:rows]
    model, src, tgt = stirred(**changes).float(), pad(sources), some_targets(len(sources))
    plain, fast = (decode(cache, model, src, tgt) for cache in (KeyValueCache, FastKeyValueCache))
    largest = plain.abs().max()  # without a final norm, 434: processors round such logits by up to 1e-3
    torch.testing.assert_close(fast / largest, plain / largest, rtol=0, atol=1e-5)


@pytest.mark.parametrize("longest", [BLOCK - 1, BLOCK, BLOCK + 1])
def test_oracle_sources_around_the_block_size_give_the_same_logits(stirred, longest):
    model, tgt = stirred(), some_targets(2)
    src = pad([[4, 5, 6, 2], [7] * (longest - 1) + [2]])
    expected = model.eval()(src, tgt)
    torch.testing.assert_close(decode(FastKeyValueCache, model, src, tgt), expected, rtol=0, atol=1e-10)


@pytest.mark.equation("eq-cross-step")
def test_oracle_a_step_of_cross_attention_matches_its_equation(stirred):
    attention = stirred().decoder.layers[0].cross_attention
    x, z, mask = torch.randn(3, 12).double(), torch.randn(1, 5, 12).double(), torch.arange(5)[None] < 4
    memory, width = attention.project_memory(z, z), 12 // attention.num_heads
    for x_t in x:
        heads = []
        for i in range(attention.num_heads):
            block = slice(i * width, (i + 1) * width)
            key, value = (z[0, :4] @ part.weight[block].T for part in (attention.to_key, attention.to_value))
            query = x_t @ attention.to_query.weight[block].T
            heads.append((key @ query / width**0.5).softmax(dim=0) @ value)
        output = attention.attend(attention.project_query(x_t[None, None]), *memory, mask)
        expected = torch.cat(heads) @ attention.to_output.weight.T
        torch.testing.assert_close(output[0, 0], expected, rtol=0, atol=1e-12)
