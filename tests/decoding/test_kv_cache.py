"""Key-value caches: the same results as decoding without a cache, with much less work."""

from collections.abc import Callable

import pytest
import torch

from annotated_transformer.decoding.kv_cache import KeyValueCache, NoCache
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import pad
from tests.decoder_steps import CACHES, KINDS, STEPS, WORDS, decode, some_targets


@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("decoder", [NoCache, *CACHES])
def test_oracle_cached_steps_give_the_logits_of_one_full_pass(stirred, sources, decoder, changes):
    model, src, tgt = stirred(**changes), pad(sources), some_targets(len(sources))
    found = decode(decoder, model, src, tgt)
    torch.testing.assert_close(found, model.eval()(src, tgt), rtol=0, atol=1e-10)
    assert found.std(dim=(0, 1)).min() > 1e-3  # the logits differ between rows and steps


@pytest.mark.parametrize("decoder", [NoCache, *CACHES])
@pytest.mark.parametrize("rows", [[1, 1, 1, 3, 3, 0, 4], []])
def test_law_rows_can_be_reordered_repeated_and_omitted(stirred, sources, decoder, rows):
    model, src, tgt = stirred(), pad(sources), some_targets(len(sources))
    chosen = torch.tensor(rows, dtype=torch.long)
    with evaluating(model):
        targets = decoder(model, src)
        for tokens in tgt[:, :5].unbind(1):
            targets.step(tokens)
        targets.select(chosen)
        new = some_targets(7)[: len(rows), 5]
        found = targets.step(new)
    expected = model.eval()(src[chosen], torch.cat([tgt[chosen, :5], new[:, None]], dim=1))[:, -1]
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    assert found.shape == (len(rows), WORDS)


@pytest.mark.equation("eq-token-layers")
@pytest.mark.parametrize(("decoder", "tokens"), [(KeyValueCache, STEPS), (NoCache, STEPS * (STEPS + 1) // 2)])
def test_law_a_cache_decodes_each_token_and_projects_the_memory_once(stirred, decoder, tokens):
    model = stirred()
    counts = []
    for layer in model.decoder.layers:
        layer.feed_forward.register_forward_hook(lambda _, args, out: counts.append(out.size(1)))
    projected = []
    model.decoder.layers[1].cross_attention.to_key.register_forward_hook(lambda *_: projected.append(1))
    decode(decoder, model, torch.tensor([[4, 2]]), some_targets(1))
    assert sum(counts) == len(model.decoder.layers) * tokens
    assert (len(projected) == 1) == (decoder is KeyValueCache)


@pytest.mark.equation("eq-cache-memory")
def test_law_a_cache_stores_a_key_and_a_value_for_each_layer_and_token(stirred: Callable[..., Transformer]):
    model, src, tgt = stirred(), torch.tensor([[4, 5, 2]]), some_targets(1)
    with evaluating(model):
        cache = KeyValueCache(model, src)
        for tokens in tgt[:, :5].unbind(1):
            cache.step(tokens)
    stored = sum(numbers.numel() for each in cache.caches for numbers in each.pairs)
    config = model.config
    assert stored == 2 * config.num_layers * config.d_model * (5 + 3)
