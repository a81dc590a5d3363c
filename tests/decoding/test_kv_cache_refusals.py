"""The models, sources and steps that decoding and its key-value caches refuse."""

import pytest
import torch
from torch import nn

from annotated_transformer.decoding.kv_cache import KeyValueCache, MakeDecoder, NoCache, cached_or_not
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.plain import NotPlain
from annotated_transformer.model.transformer import Transformer
from tests.decoder_steps import CACHES, WORDS, decode, some_targets

pytestmark = pytest.mark.message


PATHS = ["", "decoder", "decoder.layers.1", "decoder.layers.1.self_attention", None]


@pytest.mark.parametrize("path", PATHS)
def test_message_hooks_that_would_see_one_token_at_a_time_are_refused_and_not_called(stirred, path):
    model, src, tgt, calls = stirred().eval(), torch.tensor([[4, 5, 2]]), some_targets(1), []
    if path is None:
        name, handle = "all modules have", nn.modules.module.register_module_forward_hook(calls.append)
    else:
        name, handle = f"{path or 'model'} has", model.get_submodule(path).register_forward_hook(calls.append)
    with pytest.raises(NotPlain, match=f"^{name} hooks, which KeyValueCache would .*; remove them, or d"):
        KeyValueCache(model, src)
    handle.remove()
    torch.testing.assert_close(decode(KeyValueCache, model, src, tgt), model(src, tgt), rtol=0, atol=1e-10)
    assert not calls


def test_message_a_hook_counts_without_a_cache(stirred):
    model, src, tgt = stirred().eval(), torch.tensor([[4, 5, 2]]), some_targets(1)
    model.decoder.register_forward_hook(lambda module, args, output: -output)
    with pytest.warns(UserWarning, match="^decoding without a cache, which is slower: decoder has hooks"):
        logits = decode(cached_or_not, model, src, tgt)
    torch.testing.assert_close(logits, model(src, tgt), rtol=0, atol=1e-10)


@pytest.mark.parametrize("decoder", [NoCache, *CACHES])
@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        ([5], r"tokens have shape \(1,\), and there are 2 targets; give one token for each"),
        ([[5], [6]], r"tokens have shape \(2, 1\), and there are 2 targets; give one token for each"),
        ([5, WORDS], "(tokens|token ids) 5 to 11 (are not all in the|do not fit a) vocabulary of 11"),
    ],
)
def test_message_a_decoder_refuses_other_tokens(model, decoder, tokens, sentence):
    with evaluating(model):
        targets = decoder(model, torch.tensor([[4, 2], [4, 2], [4, 2]]))
        targets.step(torch.tensor([5, 6, 7]))
        targets.select(torch.tensor([2, 0]))
        with pytest.raises(ValueError, match=sentence):
            targets.step(torch.tensor(tokens))


@pytest.mark.parametrize("decoder", [NoCache, *CACHES])
def test_message_a_decoder_refuses_more_tokens_than_positions(model: Transformer, decoder: MakeDecoder):
    with evaluating(model):
        targets = decoder(model, torch.tensor([[4, 2]]))
        for _ in range(model.config.max_length):
            targets.step(torch.tensor([5]))
        with pytest.raises(ValueError, match="the targets have 23 tokens, and the model has 23 positions; e"):
            targets.step(torch.tensor([5]))
