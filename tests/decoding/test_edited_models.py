"""Whoever edits a formula decodes with it: by the cache where it can follow, else by the whole model."""

import copy
import dataclasses
import functools
import gc
import inspect
import textwrap
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from annotated_transformer.decoding import kv_cache
from annotated_transformer.decoding.kv_cache import KeyValueCache, NoCache, cached_or_not
from annotated_transformer.model import masks
from annotated_transformer.model.computation import Computation
from annotated_transformer.model.decoder import Decoder, DecoderLayer, decoder_layers
from annotated_transformer.model.encoder import Encoder, EncoderLayer
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.trainable import DecodeAgain
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.modern.cache import DecoderOnlyCache
from annotated_transformer.modern.modern_model import ModernConfig, ModernModel
from annotated_transformer.modern.single_stack import SingleStack
from annotated_transformer.text.batching import pad
from annotated_transformer.training.adam import fused_adam
from tests.decoder_steps import decode, some_targets

pytestmark = pytest.mark.usefixtures("unchecked")
SECOND = "self.second = type(self_attention)(self_attention.to_query.in_features, self_attention.num_heads)"
Edit = tuple[Any, str, str, Any]  # a class or module, its function, a text of its source, and another
ATTENTION: dict[str, list[Edit]] = {
    "an attribute": [(MultiHeadAttention, "forward", "self.attend(", "self.num_heads * self.attend(")],
    "a parameter": [
        (
            MultiHeadAttention,
            "__init__",
            "self.num_heads =",
            "self.scale = nn.Parameter(Tensor([3])); self.num_heads =",
        ),
        (MultiHeadAttention, "forward", "self.attend(", "self.scale * self.attend("),
    ],
    "a helper": [
        (MultiHeadAttention, "forward", "heads = ", "heads = 0.5 + self.helper(query) + "),
        (MultiHeadAttention, "helper", "", lambda self, x: self._project(self.to_query, x, self.num_heads)),
    ],
    "the mask that is read": [
        (MultiHeadAttention, "attend", "return output", "return output * mask.sum(dim=-1)[:, 0, :, None]")
    ],
    "no call of project_memory": [
        (
            MultiHeadAttention,
            "forward",
            "return self.attend(heads, *self.project_memory(",
            "return 2 * self.attend(heads, *type(self).project_memory(self, ",
        )
    ],
    "a mean of the past": [(MultiHeadAttention, "attend", "return output", "return output.cumsum(dim=1)")],
    "a window": [(masks, "causal_mask", ".tril()", ".tril().triu(-2)")],
    "a look at the future": [(masks, "causal_mask", ".tril()", ".tril(1)")],
}
LAYERS: dict[str, list[Edit]] = {
    "a helper of the layer": [
        (DecoderLayer, "forward", "self.add_norm_3(x, self.feed_forward)", "self.helper(x)"),
        (DecoderLayer, "helper", "", lambda self, x: self.add_norm_3(x, self.feed_forward) + 1),
    ],
    "further sub-layers": [
        (
            DecoderLayer,
            "__init__",
            "self.feed_forward =",
            f"{SECOND}; self.third = {SECOND[14:]}; self.feed_forward =",
        ),
        (
            DecoderLayer,
            "forward",
            "return x",
            "return x + self.second(x, x, x, tgt_mask) + self.third(x, memory, memory)",
        ),
    ],
    "an argument": [
        (DecoderLayer, "forward", "memory_mask: Mask | None = None,", "memory_mask=None, scale=0.5"),
        (DecoderLayer, "forward", "return x", "return scale * x"),
    ],
    "the memory that is read": [
        (DecoderLayer, "forward", "return x", "return x + memory.mean(dim=1, keepdim=True)")
    ],
    "all layers": [(Decoder, "forward", "x = layer(", "x = x + layer(")],
    "a sum of tokens": [(Decoder, "forward", "return x", "return x.cumsum(dim=1)")],
    "a mean of all tokens": [(Decoder, "forward", "return x", "return x + x.mean(dim=1, keepdim=True)")],
    "decode": [(Transformer, "decode", "return hidden", "return 2 * hidden")],
    "hidden": [(Transformer, "hidden", "return self", "return 2 * self")],
    "forward": [(Transformer, "forward", "return self", "return 2 * self")],
    "the decoder's mask": [(masks, "decoder_mask", "& causal_mask(ids.size(1), ids.device)", "")],
}
STACK: dict[str, list[Edit]] = {
    "a helper of the layer": [
        (EncoderLayer, "forward", "self.add_norm_2(x, self.feed_forward)", "self.helper(x)"),
        (EncoderLayer, "helper", "", lambda self, x: self.add_norm_2(x, self.feed_forward) + 1),
    ],
    "all layers": [(Encoder, "forward", "x = layer(", "x = x + layer(")],
    "a mean of all tokens": [(Encoder, "forward", "return x", "return x + x.mean(dim=1, keepdim=True)")],
    "hidden": [(SingleStack, "hidden", "return hidden", "return 2 * hidden")],
}
NOT_FOLLOWED = {
    "no call of project_memory", "a mean of the past", "a look at the future", "a sum of tokens",
    "a mean of all tokens", "decode", "hidden", "forward", "the decoder's mask",
}  # fmt: skip


def make_edits(patch: pytest.MonkeyPatch, edits: list[Edit]) -> None:
    """Edit functions and methods, as a reader does in their files, or add one."""
    sources: dict[tuple[Any, str], str] = {}
    for owner, name, old, new in edits:
        if not old:
            patch.setattr(owner, name, new, raising=False)
            continue
        function = inspect.unwrap(getattr(owner, name))
        if (owner, name) not in sources:
            sources[owner, name] = textwrap.dedent(inspect.getsource(function))
        assert old in sources[owner, name]
        sources[owner, name] = sources[owner, name].replace(old, new, 1)
        names: dict[str, Any] = {}
        source = sources[owner, name].replace("super()", f"super({owner.__name__}, self)")
        exec(source, function.__globals__, names)
        edited = inspect.unwrap(names[name])
        if inspect.ismodule(owner):  # others have imported it
            patch.setattr(function, "__code__", edited.__code__)
        else:
            patch.setattr(owner, name, edited)


def check_kind(decoder: object, name: str, cache: type, whole: type, seen: list[Any]) -> None:
    assert type(decoder) is (whole if name in NOT_FOLLOWED else cache)
    assert [str(warning.message)[:26] for warning in seen] == ["decoding without a cache, "] * (
        name in NOT_FOLLOWED
    )


@pytest.mark.parametrize("name", ATTENTION | LAYERS)
def test_law_default_decoding_computes_an_edited_model(monkeypatch, stirred, sources, name: str):
    src, tgt = pad(sources), some_targets(len(sources))
    before = stirred().eval()(src, tgt)
    make_edits(monkeypatch, (ATTENTION | LAYERS)[name])
    model = stirred().eval()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with evaluating(model):
            check_kind(cached_or_not(model, src), name, KeyValueCache, NoCache, seen)
        logits = decode(cached_or_not, model, src, tgt)
    whole = torch.stack([model(src, tgt[:, : i + 1])[:, -1] for i in range(tgt.size(1))], dim=1)
    torch.testing.assert_close(logits, whole, rtol=1e-9, atol=1e-9)
    assert (logits - before).abs().max() > 1e-3


@pytest.mark.parametrize("name", sorted(NOT_FOLLOWED))
def test_law_an_edit_after_the_first_use_is_noticed(monkeypatch, stirred, sources, name: str):
    model, src, tgt = stirred().eval(), pad(sources), some_targets(len(sources))
    decode(KeyValueCache, model, src, tgt[:, :2])
    make_edits(monkeypatch, (ATTENTION | LAYERS)[name])
    with pytest.warns(UserWarning, match="^decoding without a cache"):
        logits = decode(cached_or_not, model, src, tgt)
    whole = torch.stack([model(src, tgt[:, : i + 1])[:, -1] for i in range(tgt.size(1))], dim=1)
    torch.testing.assert_close(logits, whole, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ATTENTION | STACK)
def test_law_sampling_computes_an_edited_modern_model(monkeypatch, name: str):
    def make() -> ModernModel:
        torch.manual_seed(0)
        config = ModernConfig(vocab_size=11, max_length=30, d_model=16, d_ff=8, num_heads=4, num_kv_heads=2)
        return ModernModel(config).double().eval()

    ids = some_targets(2)
    before = make()(ids)
    make_edits(monkeypatch, (ATTENTION | STACK)[name])
    model = make()
    with warnings.catch_warnings(record=True) as seen, evaluating(model):
        warnings.simplefilter("always")
        texts, prompts = model.start(ids)
        check_kind(texts, name, DecoderOnlyCache, DecodeAgain, seen)
        logits = torch.stack([texts.step(tokens) for tokens in prompts.unbind(1)], dim=1)
    whole = torch.stack([model(ids[:, : i + 1])[:, -1] for i in range(ids.size(1))], dim=1)
    torch.testing.assert_close(logits, whole, rtol=1e-9, atol=1e-9)
    assert (logits - before).abs().max() > 1e-3


def zero_gate(model: Transformer) -> None:
    """Add a mean of the tokens so far, whose weight is 0 as long as nobody has trained it."""
    for layer in decoder_layers(model.decoder):
        layer.feed_forward.__class__ = Gated
        layer.feed_forward.gate = nn.Parameter(torch.zeros(12, dtype=torch.float64))


class Gated(FeedForward):
    def forward(self, x):
        counts = torch.arange(1, x.size(1) + 1)[:, None]
        return super().forward(x) + self.gate * x.cumsum(dim=1) / counts


class Banning(Transformer):
    """Tokens that are never generated have a logit that makes all others look small."""

    def logits(self, hidden):
        logits = super().logits(2 * hidden.cumsum(dim=1))
        return logits.index_fill(2, torch.tensor([0, 1]), torch.finfo(logits.dtype).min)


class BanningMost(Transformer):
    def logits(self, hidden):
        logits = super().logits(2 * hidden.cumsum(dim=1))
        return logits.index_fill(2, torch.arange(8, 17), -1e9)


class Remembering(Transformer):
    """Encoding leaves a trace on the model, which is that of the search begun last."""

    def encode(self, src, src_mask=None):
        self.trace = super().encode(src, src_mask)
        return self.trace

    def logits(self, hidden):
        return super().logits(hidden + self.trace.mean(dim=1, keepdim=True))


class Shifted(FeedForward):
    """A mean of the past, through a matrix that is an identity for the token itself so far."""

    def forward(self, x):
        past = x.cumsum(dim=1) / torch.arange(1, x.size(1) + 1)[:, None]
        return super().forward(torch.cat([x, past], dim=-1) @ self.mix)


def identity_kernel(model: Transformer) -> None:
    for layer in decoder_layers(model.decoder):
        layer.feed_forward.__class__ = Shifted
        layer.feed_forward.mix = nn.Parameter(torch.eye(24, 12, dtype=torch.float64))


class Hurrying(Transformer):
    """A short target does not end."""

    def forward(self, src, tgt):
        logits = super().forward(src, tgt)
        return logits.index_fill(2, torch.tensor([2]), -9.0) if tgt.size(1) < 12 else logits


class Forgetful(Transformer):
    """A token that comes again later is not read."""

    def hidden(self, src, tgt):
        again = (tgt[:, :, None] == tgt[:, None, :]).tril(-1).any(dim=1)
        hidden = super().hidden(src, tgt)
        return torch.where(again[..., None], 2 * hidden, hidden)


UNSEEN: dict[str, Callable[[Transformer], object]] = {
    "a gate of 0": zero_gate,
    "an identity": identity_kernel,
    "short targets": lambda model: setattr(model, "__class__", Hurrying),
    "tokens that come again": lambda model: setattr(model, "__class__", Forgetful),
    "many huge logits": lambda model: setattr(model, "__class__", BanningMost),
    "huge logits": lambda model: setattr(model, "__class__", Banning),
    "a state": lambda model: setattr(model, "__class__", Remembering),
    "a hook": lambda model: model.decoder.register_forward_pre_hook(lambda _, given: None),
}


@pytest.mark.parametrize("change", UNSEEN.values(), ids=UNSEEN)
def test_law_what_the_comparison_could_miss_is_refused(stirred, change: Callable[[Transformer], object]):
    model, src = stirred(), torch.tensor([[4, 5, 2], [6, 2, 0]])
    with evaluating(model):
        assert type(cached_or_not(model, src)) is KeyValueCache
        change(model)
        with pytest.warns(UserWarning, match="^decoding without a cache"):
            assert type(cached_or_not(model, src)) is NoCache


class Linked(DecoderLayer):
    """A layer adds what the one below has read from the source."""

    below: list[DecoderLayer]

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        def read(x):
            self.read = self.cross_attention(x, memory, memory, memory_mask)
            self.calls = getattr(self, "calls", 0) + 1
            return self.read + sum(layer.read for layer in self.below)

        x = self.add_norm_1(x, lambda x: self.self_attention(x, x, x, tgt_mask))
        return self.add_norm_3(self.add_norm_2(x, read), self.feed_forward)


@pytest.mark.parametrize("in_a_list", [False, True])
def test_law_layers_that_know_each_other_decode_as_the_model(monkeypatch, stirred, sources, in_a_list: bool):
    model, src, tgt = stirred(num_layers=2).eval(), pad(sources), some_targets(len(sources))
    first, second = decoder_layers(model.decoder)
    first.__class__ = second.__class__ = Linked
    first.below, second.below = [], [first] if in_a_list else nn.ModuleList([first])
    with warnings.catch_warnings(record=True) as seen, evaluating(model):
        warnings.simplefilter("always")
        kind = type(cached_or_not(model, src))
        compared = []
        monkeypatch.setattr(kv_cache.refuse_other_steps, "results", lambda model: compared.append(1) or [])
        logits = decode(cached_or_not, model, src, tgt)
    assert kind is (NoCache if in_a_list else KeyValueCache)  # the copies of a cache are in no list
    assert bool(seen) == in_a_list
    assert not compared  # what computing writes is no change
    whole = torch.stack([model(src, tgt[:, : i + 1])[:, -1] for i in range(tgt.size(1))], dim=1)
    torch.testing.assert_close(logits, whole, rtol=1e-9, atol=1e-9)


OPTIONS = {"scale": 1.0}
OBJECT, DEFAULT = types.SimpleNamespace(scale=1.0), types.SimpleNamespace(scale=1.0)
SWITCHES: dict[str, Callable[[pytest.MonkeyPatch, Transformer], None]] = {
    "an entry of a dictionary": lambda patch, model: patch.setitem(OPTIONS, "scale", 2.0),
    "an attribute": lambda patch, model: setattr(model.decoder, "option", 1),
    "a static method": lambda patch, model: patch.setattr(Switched, "helper", staticmethod(lambda x: 2 * x)),
    "a partial function": lambda patch, model: patch.setattr(Switched, "part", functools.partial(max, 2)),
    "the config": lambda patch, model: setattr(model, "config", dataclasses.replace(model.config)),
    "a global": lambda patch, model: patch.setitem(globals(), "GLOBAL", (1,)),
    "an object": lambda patch, model: patch.setattr(OBJECT, "scale", 2.0),
    "a default": lambda patch, model: patch.setattr(DEFAULT, "scale", 2.0),
    "a weight": lambda patch, model: model.embedding.weight.mul_(2),
    "another weight": lambda patch, model: setattr(model.embedding, "weight", nn.Parameter(torch.eye(2))),
    "a buffer": lambda patch, model: model.positions.table.mul_(2),
    "a tensor": lambda patch, model: setattr(model.decoder, "option", torch.zeros(1)),
    "training": lambda patch, model: trained(model),
}
GLOBAL = None


def trained(model: Transformer) -> None:
    with torch.enable_grad():
        model(torch.tensor([[4]]), torch.tensor([[1]])).sum().backward()
    fused_adam(model).step()


class Switched(Decoder):
    option = None
    part = functools.partial(max, 1)

    @staticmethod
    def helper(x):
        return x

    def forward(self, x, *rest, default=DEFAULT):
        scale = OPTIONS["scale"] * OBJECT.scale * default.scale * self.part(0) * (1 if GLOBAL is None else 2)
        return self.helper(super().forward(scale * x, *rest))


@pytest.mark.parametrize("name", SWITCHES)
@torch.no_grad()
def test_law_a_changed_computation_is_noticed(monkeypatch, stirred, name: str):
    model = stirred()
    model.decoder.__class__ = Switched
    model.decoder.option = None
    computation = Computation(model)
    model(torch.tensor([[4]]), torch.tensor([[1]]))
    assert not computation.changed(model)
    SWITCHES[name](monkeypatch, model)
    assert computation.changed(model)


def test_law_a_comparison_changes_nothing_and_is_made_once(monkeypatch, stirred):
    calls: list[int] = []
    model, src = stirred().train(), torch.tensor([[4, 5, 2]])
    before = {name: value.clone() for name, value in model.state_dict().items()}
    monkeypatch.setattr(kv_cache.refuse_other_steps, "results", lambda model: calls.append(1) or [])
    random_state = torch.get_rng_state()
    with evaluating(model):
        for _ in range(3):
            KeyValueCache(model, src)
    assert calls == [1]
    assert torch.equal(torch.get_rng_state(), random_state)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(module.training for module in model.modules())
    model.logits = types.MethodType(Transformer.logits, model)
    KeyValueCache(model.eval(), src)
    assert calls == [1, 1]
    assert not copy.deepcopy(model)._refusals.by_comparison
    reference = weakref.ref(model)
    del model
    gc.collect()
    assert reference() is None


def test_law_a_copy_of_a_model_is_compared_by_itself(stirred):
    model, src = stirred().eval(), torch.tensor([[4, 5, 2]])
    assert type(cached_or_not(model, src)) is KeyValueCache
    copied = copy.copy(model)
    copied.forward = lambda src, tgt: -model(src, tgt)
    with pytest.warns(UserWarning, match="^decoding without a cache"):
        assert type(cached_or_not(copied, src)) is NoCache


def test_law_in_half_precision_a_change_larger_than_rounding_in_float32_is_noticed(stirred):
    model, src = stirred().bfloat16().eval(), torch.tensor([[4, 5, 2]])
    assert type(cached_or_not(model, src)) is KeyValueCache
    model.__class__ = type(
        "Larger", (Transformer,), {"hidden": lambda *call: 1.01 * Transformer.hidden(*call)}
    )
    with pytest.warns(UserWarning, match="^decoding without a cache"):
        assert type(cached_or_not(model, src)) is NoCache


@pytest.mark.parametrize("failure", [MemoryError, torch.OutOfMemoryError])
def test_law_a_lack_of_memory_is_no_refusal(monkeypatch, stirred, failure: type[Exception]):
    def fail(config: object) -> None:
        raise failure

    model, src = stirred().eval(), torch.tensor([[4, 5, 2]])
    with monkeypatch.context() as patch:
        patch.setattr(kv_cache, "example_ids", fail)
        with pytest.raises(failure):
            KeyValueCache(model, src)
    assert type(cached_or_not(model, src)) is KeyValueCache


def test_law_a_model_with_nan_is_compared_when_its_weights_are_others(stirred):
    model, src = stirred().eval(), torch.tensor([[4, 5, 2]])
    model.__class__ = Banning
    weights = copy.deepcopy(model.state_dict())
    model.embedding.weight.data.fill_(torch.nan)
    assert type(cached_or_not(model, src)) is KeyValueCache  # the search then reports it
    model.load_state_dict(weights)
    with pytest.warns(UserWarning, match="^decoding without a cache"):
        assert type(cached_or_not(model, src)) is NoCache
