"""The models, sources and steps that decoding and its key-value caches refuse."""

import re
from collections.abc import Callable

import pytest
import torch

from annotated_transformer.decoding.kv_cache import KeyValueCache, MakeDecoder, NoCache
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.plain import NotPlain
from annotated_transformer.model.transformer import Transformer
from tests.decoder_steps import CACHES, WORDS, decode, some_targets

pytestmark = pytest.mark.message


def on_itself(path: str, method: str) -> Callable[[Transformer], None]:
    """Return a function that makes one module's method return twice its result."""

    def change(model: Transformer) -> None:
        module = model.get_submodule(path)
        plain = getattr(module, method)
        setattr(module, method, lambda *args, **kwargs: 2 * plain(*args, **kwargs))

    return change


def hooked(path: str) -> Callable[[Transformer], object]:
    """Return a function that makes a hook return twice the output of one module."""
    return lambda model: model.get_submodule(path).register_forward_hook(lambda module, args, out: 2 * out)


WHOLE = [  # a module, and what is changed in it
    ("model", "decode"),
    ("decoder", "forward"),
    ("decoder.layers.1", "forward"),
    ("decoder.layers.0.self_attention", "forward"),
    ("decoder.layers.1.cross_attention", "forward"),
    ("decoder.layers.1", "hooks"),
    ("decoder.layers.1.self_attention", "hooks"),
    ("decoder.layers.0.cross_attention", "hooks"),
]


@pytest.mark.parametrize(("path", "what"), WHOLE, ids=str)
def test_message_a_cache_refuses_overridden_or_hooked_parts_that_it_would_not_call(
    stirred: Callable[..., Transformer], path: str, what: str
):
    change = hooked(path) if what == "hooks" else on_itself(path.removeprefix("model"), what)
    sentence = re.escape(path) + (" has hooks" if what == "hooks" else f" overrides {what}")
    model, src, tgt = stirred(), torch.tensor([[4, 5, 2]]), some_targets(1)
    before = model.eval()(src, tgt)
    change(model)
    sentence += (
        ", which KeyValueCache would not call; remove that, or decode with NoCache, which calls decode"
    )
    with pytest.raises(NotPlain, match=f"^{sentence}"):
        KeyValueCache(model, src)
    expected = model(src, tgt)  # and the alternative in the message works
    torch.testing.assert_close(decode(NoCache, model, src, tgt), expected, rtol=0, atol=1e-10)
    assert (expected - before).abs().max() > 1e-6


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


@pytest.mark.parametrize("decoder", [NoCache, *CACHES])
@pytest.mark.parametrize("change", ["forward", "hidden", "a hook"])
def test_message_a_changed_forward_that_decoding_would_not_call(stirred, decoder, change):
    model, src = stirred(), torch.tensor([[4, 2]])
    if change == "a hook":
        model.register_forward_hook(lambda module, args, output: -output)
        sentence = "has hooks"
    else:
        changed = type("Changed", (Transformer,), {change: lambda self, src, tgt: torch.zeros(1)})
        model.__class__ = changed
        sentence = f"overrides {change}"
    rest = "fast=True would" if change == "a hook" and decoder is FastKeyValueCache else "decoding would"
    with pytest.raises(NotPlain, match=rf"\bmodel {sentence}, which {rest} not call; .*, or (override|run)"):
        decoder(model, src)
