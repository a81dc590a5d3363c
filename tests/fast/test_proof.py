"""`fast=True` refuses what it would compute in another way, whenever that is changed, and moves nothing."""

import dataclasses
import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from annotated_transformer.decoding.translator import Translator
from annotated_transformer.fast import proof
from annotated_transformer.fast.kv_cache import refuse_other_steps
from annotated_transformer.fast.proof import refuse_other_loss
from annotated_transformer.fast.training import fast_loss
from annotated_transformer.model import attention
from annotated_transformer.model.attention import ScaledDotProductAttention
from annotated_transformer.model.embeddings import TokenEmbedding
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import LayerNorm, PostNorm
from annotated_transformer.model.plain import NotPlain
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training import loss as plain_loss
from annotated_transformer.training.distributed import ProcessGroup
from annotated_transformer.training.trainer import train
from tests.checkpointing.small_models import make_tokenizer
from tests.decoder_steps import KINDS
from tests.small_training import BRIEF, rng

pytestmark = pytest.mark.usefixtures("unchecked")
TEXTS = ["A man is sleeping.", "Two dogs"]
LAYER = "decoder.layers.0"
REFUSAL = "^fast=True .*; run without fast=True: your model computes something else$"
Change = Callable[[Transformer, pytest.MonkeyPatch], object]


@pytest.fixture
def one(stirred) -> Transformer:
    return stirred(vocab_size=263, num_layers=1, dropout=0.0).float()


def replaces(kind: object, name: str, make: Callable[..., Callable[..., object]]) -> Change:
    """Return a change of a function or method, as a cell of a notebook makes it; `make` gets the old one."""
    return lambda model, patch: patch.setattr(kind, name, make(getattr(kind, name)))


def on(path: str, change: Callable[..., object]) -> Change:
    return lambda model, patch: change(model.get_submodule(path))


def twice(old: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda *args, **kwargs: 2 * old(*args, **kwargs)


def unscaled(old: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda query, key, *mask: old(query * math.sqrt(query.size(-1)), key, *mask)


class Negative(FeedForward):
    """A part that returns the opposite."""

    def forward(self, x: Tensor) -> Tensor:
        return -super().forward(x)


def with_larger_eps(old: object) -> Callable[[LayerNorm, Tensor], Tensor]:
    """Return `LayerNorm.forward` with ε ten times as large."""

    def forward(self: LayerNorm, x: Tensor) -> Tensor:
        centered = x - x.mean(dim=-1, keepdim=True)
        variance = centered.square().mean(dim=-1, keepdim=True)
        return self.gain * centered / torch.sqrt(variance + 10 * self.eps) + self.bias

    return forward


def on_itself(path: str, method: str) -> Change:
    """Return a change of a method of one module, by a function that has no other access to it."""

    def change(part: nn.Module) -> None:
        setattr(part, method, twice(getattr(part, method)))

    return on(path, change)


def to_class(path: str, kind: type[nn.Module]) -> Change:
    return on(path, lambda part: setattr(part, "__class__", kind))


CHANGES: dict[str, Change] = {
    "attention_weights": replaces(attention, "attention_weights", unscaled),
    "attention's forward": replaces(ScaledDotProductAttention, "forward", twice),
    "a norm's forward": replaces(LayerNorm, "forward", twice),
    "the norm's ε": replaces(LayerNorm, "forward", with_larger_eps),
    "attend of the heads": replaces(MultiHeadAttention, "attend", twice),
    "logits of the embedding": replaces(TokenEmbedding, "logits", twice),
    "the residual": replaces(
        PostNorm, "forward", lambda old: lambda self, x, sublayer: self.norm(sublayer(x))
    ),
    "a class": to_class(f"{LAYER}.feed_forward", Negative),
    "a part": on(LAYER, lambda layer: setattr(layer, "feed_forward", nn.Tanh())),
    "a class that leaves it out": to_class(f"{LAYER}.feed_forward", nn.Identity),
    "a norm's own forward": on_itself(f"{LAYER}.add_norm_1.norm", "forward"),
    "its own attend": on_itself(f"{LAYER}.cross_attention", "attend"),
    "logits of the model": on_itself("", "logits"),
    "heads": on(f"{LAYER}.cross_attention", lambda part: setattr(part, "num_heads", 2)),
    "an activation": on(f"{LAYER}.feed_forward", lambda part: setattr(part, "activation", nn.GELU())),
    "an ε": on(f"{LAYER}.add_norm_1.norm", lambda part: setattr(part, "eps", 0.1)),
}
LOSSES: dict[str, Change] = {  # the accelerated loss calls the modules that it does not replace
    **CHANGES,
    "the smoothing": replaces(
        plain_loss,
        "label_smoothed_cross_entropy",
        lambda old: lambda *args, smoothing, pad_id: old(*args, smoothing=1.01 * smoothing, pad_id=pad_id),
    ),
}
ALIKE = "an activation", "an ε"
REFUSED_LOSSES = [*list(CHANGES)[:4], "logits of the embedding", "logits of the model", "the smoothing"]


def best(translator: Translator) -> list[float]:
    return [own.log_prob for found in translator.nbest(TEXTS, 1, beam_size=1) for own in found]


@pytest.mark.parametrize("name", CHANGES)
def test_law_what_changes_after_the_first_translation_counts_in_the_next(one, monkeypatch, name: str):
    default, fast = (Translator(one, make_tokenizer(), fast=fast) for fast in (False, True))
    before = best(default)
    assert best(default) == before
    assert best(fast) == pytest.approx(before, abs=1e-3)
    CHANGES[name](one, monkeypatch)
    after = best(default)
    assert after != before
    if name in ALIKE:
        assert best(fast) == pytest.approx(after, abs=1e-3)
    else:
        for _ in range(2):
            with pytest.raises(NotPlain, match=REFUSAL):
                best(fast)


@pytest.mark.parametrize("name", LOSSES)
def test_law_what_changes_a_loss_is_refused_or_changes_a_fast_run_alike(stirred, copy_pairs, name: str):
    def trained(*, changed: bool = True, fast: bool = False) -> Tensor:
        model = stirred(vocab_size=17, num_layers=1, dropout=0.0)
        model = model.float() if name in REFUSED_LOSSES else model
        with pytest.MonkeyPatch.context() as patch:
            if changed:
                LOSSES[name](model, patch)
            config = dataclasses.replace(BRIEF, steps=2, fast=fast)
            train(model, copy_pairs(7), config, generator=rng())
        return model.embedding.weight.detach()

    after = trained()
    assert not torch.equal(after, trained(changed=False))
    if name in REFUSED_LOSSES:
        with pytest.raises(NotPlain, match=REFUSAL):
            trained(fast=True)
    else:
        torch.testing.assert_close(trained(fast=True), after, rtol=0, atol=1e-8)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("changes", KINDS.values(), ids=KINDS)
def test_law_a_model_of_any_options_and_precision_passes(stirred, dtype: torch.dtype, changes: dict):
    model = stirred(**changes).to(dtype)
    refuse_other_steps(model)
    for bf16 in (False, True):
        refuse_other_loss(model, smoothing=0.1, bf16=bf16)


@pytest.mark.message
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "change", [lambda x: (2 * x).round() / 2, lambda x: x.half().to(x.dtype), lambda x: x * math.nan]
)
def test_message_scores_that_are_rounded_or_nan_in_one_type_alone(one, monkeypatch, dtype, change):
    def edited(scores: Tensor, *mask: Tensor) -> Tensor:
        return formula(change(scores) if scores.dtype == dtype else scores, *mask)

    formula = attention.masked_softmax
    monkeypatch.setattr(attention, "masked_softmax", edited)
    with pytest.raises(NotPlain, match=REFUSAL):
        refuse_other_steps(one)
    with pytest.raises(NotPlain, match=REFUSAL):
        refuse_other_loss(one, smoothing=0.1, bf16=False)


HOOKED = {
    "its weights": (f"{LAYER}.self_attention.attention.weights", nn.Module.register_forward_hook),
    "positions": ("positions", nn.Module.register_forward_pre_hook),
    "a gradient": ("dropout", nn.Module.register_full_backward_hook),
    "the model": ("", nn.Module.register_forward_hook),
    "all": (None, lambda _, hook: nn.modules.module.register_module_forward_hook(hook)),
}


@pytest.mark.message
@pytest.mark.parametrize(("path", "register"), HOOKED.values(), ids=HOOKED)
def test_message_hooks_are_refused_and_not_called(one, copy_pairs, path: str | None, register):
    fast, called = Translator(one, make_tokenizer(), fast=True), []
    best(fast)
    handle = register(one.get_submodule(path or ""), lambda *_: called.append(1))
    name = "all modules have" if path is None else f"{path or 'the model'} has"
    config = dataclasses.replace(BRIEF, steps=1, fast=True)
    with pytest.raises(NotPlain, match=f"^{name} hooks, which fast=True would not call; remove them, or run"):
        best(fast)
    with pytest.raises(NotPlain, match=f"^{name} hooks"):
        train(one, copy_pairs(3), config, generator=rng())
    assert not called
    handle.remove()
    best(fast)


def test_law_a_model_is_proved_once_until_it_changes(one, monkeypatch):
    copied: list[object] = []
    make = proof.copy_to_compare
    monkeypatch.setattr(proof, "copy_to_compare", lambda model: (copied.append(model), make(model))[1])
    default, *fast = (Translator(one, make_tokenizer(), fast=fast) for fast in (False, True, True))
    before = best(default)
    for _ in range(2):
        for each in (*fast, *fast):
            assert best(each) == pytest.approx(best(default), abs=1e-3)
        with torch.no_grad():
            one.decoder.layers[0].feed_forward.contract.weight.neg_()
            one.to_logits.weight.mul_(2)
    assert best(default) != before
    assert copied == [one] * 4  # in float64 and in its own type, for each of two states


def test_law_a_proof_moves_no_random_stream_and_changes_nothing(stirred):
    model = stirred().float().train()
    model.encoder.eval()

    def state() -> list[Tensor]:
        modes = torch.tensor([module.training for module in model.modules()])
        needed = torch.tensor([parameter.requires_grad for parameter in model.parameters()])
        return [torch.get_rng_state(), modes, needed, *map(torch.clone, model.state_dict().values())]

    model.embedding.weight.requires_grad_(False)
    before = state()
    refuse_other_steps(model)
    refuse_other_loss(model, smoothing=0.1, bf16=False)
    assert all(map(torch.equal, state(), before))
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.message
def test_message_a_model_elsewhere_than_on_a_cpu(one):
    """The device "meta" stands for CUDA here."""
    message = "^fast=True is made for CPUs, and the model is on meta; leave it out$"
    with pytest.raises(NotPlain, match=message):
        refuse_other_steps(one.to("meta"))
    with pytest.raises(NotPlain, match=message), fast_loss(one, ProcessGroup(), smoothing=0.1, bf16=False):
        pass


@pytest.mark.message
def test_message_all_processes_refuse_together(one, monkeypatch):
    monkeypatch.setattr(ProcessGroup, "any", lambda self, own: True)
    message = "^another process refuses fast=True; see its message"
    with pytest.raises(NotPlain, match=message), fast_loss(one, ProcessGroup(), smoothing=0.1, bf16=False):
        pass
