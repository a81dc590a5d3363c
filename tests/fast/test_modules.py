"""The fast path: the losses and gradients of the plain path, correct dropout, and freed memory kept."""

import dataclasses
import platform
import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from torch import nn

from annotated_transformer.fast import modules
from annotated_transformer.fast.modules import ByteDropout, FastAttention, FusedLayerNorm, fast_modules
from annotated_transformer.model.attention import FusedAttention, ScaledDotProductAttention
from annotated_transformer.model.normalization import LayerNorm
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Pair, make_batches
from annotated_transformer.training.config import TrainingConfig

PLAIN = TrainingConfig(steps=7, batch_tokens=211, warmup_steps=3, max_lr=1e-2, fast=False)

MakeModel = Callable[..., Transformer]
MakePairs = Callable[..., list[Pair]]


def test_oracle_loss_and_gradients_match_the_plain_path(loss_of, make_model, copy_pairs):
    """Dropout is off, because the two paths draw different masks."""
    model = make_model(dropout=0.0).double()
    batch = make_batches(copy_pairs(43), batch_tokens=1009)[0]
    assert (batch.labels == 0).any()  # padding, which the fast path skips
    found = []
    for fast in (False, True):
        model.zero_grad()
        config = dataclasses.replace(PLAIN, fast=fast)
        loss = loss_of(model, batch, config)
        loss.backward()
        found.append((loss, [parameter.grad for parameter in model.parameters()]))
    torch.testing.assert_close(*found, rtol=1e-12, atol=1e-14)


@pytest.mark.filterwarnings("ignore:PyTorch finds no AVX-512")
def test_law_in_bf16_the_fast_path_is_as_accurate_as_the_plain_one(loss_of, make_model, copy_pairs):
    model, (batch,) = make_model(dropout=0.0), make_batches(copy_pairs(43), batch_tokens=1009)
    exact = loss_of(model, batch, PLAIN).item()
    for fast in (False, True):
        config = dataclasses.replace(PLAIN, bf16=True, fast=fast)
        rounded = loss_of(model, batch, config)
        assert rounded.dtype == torch.float32
        assert rounded.item() != exact
        assert rounded.item() == pytest.approx(exact, rel=0.003)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_law_a_model_of_half_precision_has_the_loss_of_float32_on_both_paths(
    loss_of, make_model: MakeModel, copy_pairs: MakePairs, dtype: torch.dtype
):
    model, batch = make_model(dropout=0.0), make_batches(copy_pairs(7), batch_tokens=211)[0]
    expected = loss_of(model, batch, PLAIN).item()
    model.to(dtype)
    for fast in (False, True):
        found = loss_of(model, batch, dataclasses.replace(PLAIN, fast=fast))
        found.backward()
        assert found.item() == pytest.approx(expected, rel=torch.finfo(dtype).eps)
        assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


def test_law_the_plain_modules_are_restored_even_after_an_error(make_model: MakeModel):
    model = make_model()
    before, names = list(model.modules()), list(model.state_dict())
    with fast_modules(model):
        kinds = {type(module) for module in model.modules()}
        assert {ByteDropout, FastAttention, FusedLayerNorm} <= kinds
        assert not {nn.Dropout, LayerNorm, ScaledDotProductAttention} & kinds
        assert list(model.state_dict()) == names
    assert list(model.modules()) == before

    def stop() -> None:
        with fast_modules(model):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert list(model.modules()) == before


MASKS = {
    "none": lambda rng, keys: None,
    "causal": lambda rng, keys: torch.ones(7, keys, dtype=torch.bool).tril(),
    "padding": lambda rng, keys: (
        torch.arange(keys).view(1, 1, 1, -1) < torch.tensor([1, keys]).view(-1, 1, 1, 1)
    ),
    "blind queries": lambda rng, keys: torch.rand(2, 1, 7, keys, generator=rng) < 0.3,
    "nothing": lambda rng, keys: torch.zeros(7, keys, dtype=torch.bool),
}


@pytest.mark.parametrize("keys", [1, 15, 16])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_oracle_fast_attention_matches_plain_attention(keys, mask, scale):
    rng = torch.Generator().manual_seed(keys)
    query, key, value = (
        torch.randn(2, 3, rows, width, generator=rng, dtype=torch.float64).requires_grad_()
        for rows, width in ((7, 4), (keys, 4), (keys, 5))
    )
    allowed, plain, found = mask(rng, keys), ScaledDotProductAttention(), []
    for attention in (plain, FastAttention(plain)):
        seen: list[torch.Tensor] = []
        handle = plain.weights.register_forward_hook(lambda _, __, weights, seen=seen: seen.append(weights))
        read = attention(scale * query, key, value, allowed)
        handle.remove()
        gradients = torch.autograd.grad((read * torch.arange(5)).sin().sum(), (query, key, value))
        found.append((read, *seen, *gradients))
    assert len(found[0]) == 5
    torch.testing.assert_close(found[1], found[0], rtol=1e-12, atol=1e-12 * scale)


@pytest.mark.parametrize("mask", [None, torch.ones(7, 19, dtype=torch.bool)], ids=["no mask", "mask"])
def test_law_fast_attention_rounds_no_scores_of_bf16(mask: torch.Tensor | None):
    rng = torch.Generator().manual_seed(0)
    query, key = (torch.randn(2, rows, 4, generator=rng).bfloat16() for rows in (7, 19))
    expected = ((query @ key.transpose(-2, -1)).float() / 2).softmax(dim=-1)
    found = FastAttention(ScaledDotProductAttention())(query, key, torch.eye(19).expand(2, 19, 19), mask)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.message
@pytest.mark.parametrize(
    ("shapes", "mask", "message"),
    [
        (((7, 4), (5, 3), (5, 4)), None, "but got: "),
        (((7, 4), (5, 4), (6, 4)), None, "5 keys but 6 values; |but got: "),
        (((7, 4), (5, 4), (5, 4)), torch.ones(7, 6, dtype=torch.bool), r"Tensor sizes: \[7, 6\]"),
    ],
)
def test_message_fast_attention_refuses_what_the_plain_one_refuses(shapes, mask, message):
    inputs = [torch.ones(2, 3, *shape) for shape in shapes]
    for attention in (ScaledDotProductAttention(), FastAttention(ScaledDotProductAttention())):
        with pytest.raises((RuntimeError, ValueError), match=message):
            attention(*inputs, mask)


def test_oracle_the_fused_norm_equals_the_plain_one():
    rng = torch.Generator().manual_seed(0)
    norm = LayerNorm(13, eps=0.1).double()
    with torch.no_grad():
        for parameter in norm.parameters():
            parameter.normal_(generator=rng)
    x = 7 + torch.randn(2, 3, 13, generator=rng, dtype=torch.float64)
    torch.testing.assert_close(FusedLayerNorm(norm)(x), norm(x), rtol=1e-12, atol=1e-12)
    assert FusedLayerNorm(norm).gain is norm.gain


def test_law_byte_dropout_keeps_its_fraction_and_the_mean():
    torch.manual_seed(0)
    p = 0.3
    dropout, x = ByteDropout(p), torch.ones(1009, 997, dtype=torch.float64, requires_grad=True)
    y = dropout(x)
    share = round(256 * p) / 256
    dropped = (y == 0).double()
    assert abs(share - p) <= 1 / 512
    assert dropped.mean().item() == pytest.approx(share, abs=0.002)  # at most 4 sigma
    assert torch.equal(y[y != 0].unique(), torch.tensor([1 / (1 - share)], dtype=torch.float64))
    for axis in (0, 1):  # no row or column is favored: less than 6 sigma
        assert (dropped.mean(axis) - share).abs().max() < 6 * (share * (1 - share) / 997) ** 0.5
    neighbors = (dropped[:, 1:] * dropped[:, :-1]).mean().item()
    assert neighbors == pytest.approx(share**2, abs=0.002)  # the bytes of one word are independent
    y.backward(2 * torch.ones_like(y))
    torch.testing.assert_close(x.grad, 2 * y.detach())  # the backward pass uses the same mask
    assert not torch.equal(dropout(x), y)


@pytest.mark.parametrize(("p", "share"), [(0.001, 1 / 256), (0.999, 255 / 256)])
def test_law_byte_dropout_drops_some_elements_and_keeps_some(p: float, share: float):
    torch.manual_seed(0)
    y = ByteDropout(p)(torch.ones(1009, 997, dtype=torch.float64))
    assert (y == 0).double().mean().item() == pytest.approx(share, abs=0.0003)  # at most 4 sigma
    assert torch.equal(y[y != 0].unique(), torch.tensor([1 / (1 - share)], dtype=torch.float64))


def test_law_byte_dropout_is_off_in_evaluation_and_at_zero():
    x = torch.randn(3, 5)
    assert ByteDropout(0.3).eval()(x) is x
    assert ByteDropout(0.0)(x) is x
    torch.manual_seed(0)
    first = ByteDropout(0.3)(x)
    torch.manual_seed(0)
    assert torch.equal(ByteDropout(0.3)(x), first)  # it draws from PyTorch's global generator


def test_law_a_changed_module_is_not_replaced(make_model: MakeModel):
    class Louder(LayerNorm):
        def forward(self, x):
            return 2 * super().forward(x)

    class Half(nn.Dropout):
        def forward(self, x):
            return x / 2

    model = make_model()
    first, last = model.encoder.layers[0].add_norm_1, model.decoder.layers[0].add_norm_3
    first.norm, first.dropout = Louder(12), Half(0.5)
    last.norm.forward = lambda x: 2 * x
    last.dropout.register_forward_hook(lambda *_: None)
    hooked, other = model.encoder.layers[0].self_attention, model.decoder.layers[0].cross_attention
    hooked.attention.register_forward_hook(lambda *_: None)
    other.attention = FusedAttention()
    kept = [first.norm, first.dropout, last.norm, last.dropout, hooked.attention, other.attention]
    with fast_modules(model):
        found = [first.norm, first.dropout, last.norm, last.dropout, hooked.attention, other.attention]
        assert found == kept
        assert type(model.dropout) is ByteDropout


SCRIPT = """
import resource, torch
from annotated_transformer.fast.modules import keep_freed_memory

def faults() -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(2**24)  # 64 MB, which glibc always maps from the system and returns to it
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
print(min(faults() for _ in range(3)))
keep_freed_memory()
faults()
print(min(faults() for _ in range(20)))  # small blocks may be in the way at first
"""


def test_law_memory_that_was_freed_is_used_again_without_page_faults():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=300
    )
    by_default, kept = map(int, done.stdout.split())
    if platform.libc_ver()[0] == "glibc":  # elsewhere, it only has to run
        pages = 64 * 2**20 // 4096
        assert by_default > pages // 4
        assert kept < pages // 100


def test_law_keep_freed_memory_loads_no_library_on_windows(monkeypatch: pytest.MonkeyPatch):
    def refuse(name: None) -> None:
        raise TypeError("LoadLibrary() argument 1 must be str, not None")

    monkeypatch.setattr(modules.ctypes, "CDLL", refuse)
    monkeypatch.setattr(modules.sys, "platform", "win32")
    modules.keep_freed_memory()


def test_law_keep_freed_memory_does_nothing_without_glibc(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(modules.ctypes, "CDLL", lambda name: object())
    modules.keep_freed_memory()
