"""The models, sources and steps that decoding and its key-value caches refuse."""

import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from annotated_transformer.decoding.kv_cache import KeyValueCache, MakeDecoder, NoCache
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.fast.static_cache import StaticCaches
from annotated_transformer.model.embeddings import TokenEmbedding
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.plain import NotPlain
from annotated_transformer.model.transformer import Transformer
from tests.decoder_steps import CACHES, WORDS, decode, some_targets

pytestmark = pytest.mark.message
OTHERS = r"decode with KeyValueCache, or NoCache if that refuses it, too \(for a Translator: fast=False\)"
FAST = [FastKeyValueCache, StaticCaches()]


@pytest.mark.parametrize(
    "name", ["decoder.layers.1.self_attention.attention.weights", "positions", "dropout"]
)
@pytest.mark.parametrize("kind", ["forward", "forward_pre"])
@pytest.mark.parametrize("decoder", FAST)
def test_message_the_fast_caches_refuse_hooks_that_they_would_not_call(stirred, decoder, name, kind):
    model, src = stirred(), torch.tensor([[4, 2]])
    decoder(model, src)
    hook = getattr(model.get_submodule(name), f"register_{kind}_hook")(lambda *_: None)
    with pytest.raises(NotPlain, match=rf"^{name} has hooks, which .* decode with KeyValueCache"):
        decoder(model, src)
    hook.remove()
    decoder(model, src)


class Sharp(Transformer):
    """A model that overrides `logits`."""

    def logits(self, hidden: Tensor) -> Tensor:
        return 2 * super().logits(hidden)


class TwiceTheLogits(TokenEmbedding):
    """An output matrix that overrides `logits`."""

    def logits(self, hidden: Tensor) -> Tensor:
        return 2 * super().logits(hidden)


def on_itself(path: str, method: str) -> Callable[[Transformer], None]:
    """Return a function that makes one module's method return twice its result."""

    def change(model: Transformer) -> None:
        module = model.get_submodule(path)
        plain = getattr(module, method)
        setattr(module, method, lambda *args, **kwargs: 2 * plain(*args, **kwargs))

    return change


def replaced(path: str, make: Callable[[], nn.Module]) -> Callable[[Transformer], None]:
    return lambda model: model.set_submodule(path, make())


CROSS = "decoder.layers.1.cross_attention"
WEIGHTS = "decoder.layers.0.self_attention.attention.weights"
NETWORK = "decoder.layers.0.feed_forward"
BYPASSED = {
    "logits in a subclass": (lambda model: setattr(model, "__class__", Sharp), "model overrides logits"),
    "embed": (on_itself("", "embed"), "model overrides embed"),
    "logits of the embedding": (on_itself("embedding", "logits"), "embedding overrides logits"),
    "an output": (
        lambda model: setattr(model, "output", TwiceTheLogits(11, 12).double()),
        "output is a TwiceTheLogits, and FastKeyValueCache cannot compute",
    ),
    "positions": (on_itself("positions", "forward"), "positions overrides forward"),
    "an attention": (on_itself(CROSS, "attend"), f"{CROSS} overrides attend"),
    "other heads": (
        lambda model: setattr(model.get_submodule(CROSS), "num_heads", 2),
        rf"{CROSS} has num_heads, d_k, d_v = \(2, 6, 6\), .* needs \(3, 4, 4\)",
    ),
    "other widths": (
        replaced(CROSS, lambda: MultiHeadAttention(12, 3, d_k=5, d_v=3).double()),
        rf"{CROSS} has .* \(3, 5, 3\), .* needs \(3, 4, 4\)",
    ),
    "dropout": (replaced("dropout", nn.GELU), "dropout is a GELU, and FastKeyValueCache cannot compute"),
    "weights": (replaced(WEIGHTS, nn.GELU), f"{WEIGHTS} is a GELU"),
    "no network": (replaced(NETWORK, nn.Identity), f"{NETWORK} is a Identity, and FastKeyValueCache cannot"),
    "no projection": (replaced(f"{CROSS}.to_output", nn.Identity), rf"{CROSS}\.to_output is a Identity"),
}


@pytest.mark.parametrize(("change", "sentence"), BYPASSED.values(), ids=BYPASSED)
@pytest.mark.parametrize("decoder", FAST)
def test_message_the_fast_caches_refuse_a_modified_model(stirred, decoder, change, sentence):
    model, src, tgt = stirred(), torch.tensor([[4, 5, 2]]), some_targets(1)
    before = model.eval()(src, tgt)
    decoder(model, src)
    change(model)
    with pytest.raises(NotPlain, match=rf"^{sentence}.* {OTHERS}$"):
        decoder(model, src)
    expected = model(src, tgt)  # and the alternative in the message works
    torch.testing.assert_close(decode(KeyValueCache, model, src, tgt), expected, rtol=0, atol=1e-10)
    assert (expected - before).abs().max() > 1e-6


@pytest.mark.parametrize("path", ["decoder", "decoder.layers.1", "decoder.layers.0.self_attention", CROSS])
def test_message_a_cache_refuses_a_part_that_an_identity_replaces(stirred, path: str):
    """The class of the replacement is one that other parts have."""
    model = stirred()
    model.set_submodule(path, nn.Identity())
    for decoder, sentence in (
        (FastKeyValueCache, rf"is a Identity, and FastKeyValueCache cannot compute what .* {OTHERS}"),
        (
            KeyValueCache,
            "overrides forward, which KeyValueCache would not call; .* decode with NoCache, wh.*",
        ),
    ):
        with pytest.raises(NotPlain, match=f"^{re.escape(path)} {sentence}$"):
            decoder(model, torch.tensor([[4, 2]]))


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


@pytest.mark.parametrize("decoder", CACHES)
@pytest.mark.parametrize(("path", "what"), WHOLE, ids=str)
def test_message_a_cache_refuses_overridden_or_hooked_parts_that_it_would_not_call(
    stirred: Callable[..., Transformer], decoder: MakeDecoder, path: str, what: str
):
    change = hooked(path) if what == "hooks" else on_itself(path.removeprefix("model"), what)
    sentence = re.escape(path) + (" has hooks" if what == "hooks" else f" overrides {what}")
    model, src, tgt = stirred(), torch.tensor([[4, 5, 2]]), some_targets(1)
    before = model.eval()(src, tgt)
    change(model)
    by, way_out = "FastKeyValueCache", OTHERS
    if decoder is KeyValueCache:
        by, way_out = "KeyValueCache", "decode with NoCache, which calls decode as a whole"
    sentence += f", which {by} would not call; remove that, or {way_out}$"
    with pytest.raises(NotPlain, match=f"^{sentence}"):
        decoder(model, src)
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
    by, way_out = "FastKeyValueCache", OTHERS
    if decoder in (NoCache, KeyValueCache):
        by, way_out = "decoding", "override encode, decode, or logits instead"
    with pytest.raises(NotPlain, match=rf"^model {sentence}, which {by} would not call; .* {way_out}$"):
        decoder(model, src)
