"""The objective: labels count, padding does not, and bf16 rounds only the products."""

import dataclasses
import math

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.text.batching import make_batches
from annotated_transformer.training import loss
from annotated_transformer.training.trainer import train
from tests.small_training import BRIEF, model, rng


@pytest.mark.filterwarnings("ignore:PyTorch finds no AVX-512")
def test_law_bf16_rounds_the_products_but_not_the_loss_or_the_weights(loss_of, copy_pairs):
    one, pairs = model(), copy_pairs(97, seed=0)
    (batch,) = make_batches(pairs, batch_tokens=1009)
    rounded, exact = (loss_of(one, batch, dataclasses.replace(BRIEF, bf16=bf16)) for bf16 in (True, False))
    assert rounded.dtype == torch.float32
    assert rounded.item() != exact.item()
    assert rounded.item() == pytest.approx(exact.item(), rel=0.01)
    reports = train(one, pairs, dataclasses.replace(BRIEF, bf16=True), generator=rng())
    assert math.isfinite(reports[-1].training_loss)
    assert {parameter.dtype for parameter in one.parameters()} == {torch.float32}


@pytest.mark.message
def test_message_the_cpu_emulates_bf16(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    words = "finds no AVX-512 .* emulates bfloat16, .* ten times as long as in float32; leave out --bf16"
    with (
        pytest.warns(UserWarning, match=words),
        loss.training_loss(model(), dataclasses.replace(BRIEF, bf16=True)),
    ):
        pass


@pytest.mark.parametrize(
    ("capability", "bf16", "device"),
    [("AVX2", False, "cpu"), ("AVX512", True, "cpu"), ("AVX2", True, "meta")],
)
def test_law_nothing_is_said_where_bf16_is_off_or_not_emulated(
    monkeypatch: pytest.MonkeyPatch, capability: str, bf16: bool, device: str
):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    with loss.training_loss(model().to(device), dataclasses.replace(BRIEF, bf16=bf16)):
        pass  # a warning would be an error


@pytest.mark.parametrize("fast", [False, True])
def test_oracle_the_loss_is_pytorchs_with_the_label_smoothing_of_the_config(loss_of, copy_pairs, fast):
    one, (batch,) = model().double(), make_batches(copy_pairs(7, seed=3), batch_tokens=1009)
    logits = one(batch.src, batch.decoder_input).flatten(0, 1)
    for smoothing in (0.0, 0.2):
        found = loss_of(one, batch, dataclasses.replace(BRIEF, fast=fast, label_smoothing=smoothing))
        wanted = F.cross_entropy(logits, batch.labels.flatten(), ignore_index=0, label_smoothing=smoothing)
        assert found.item() == pytest.approx(wanted.item(), rel=1e-9)


@pytest.mark.parametrize("fast", [False, True])
def test_law_only_the_fast_path_keeps_freed_memory(monkeypatch: pytest.MonkeyPatch, fast: bool):
    called: list[None] = []
    monkeypatch.setattr(loss, "keep_freed_memory", lambda: called.append(None))
    with loss.training_loss(model(), dataclasses.replace(BRIEF, fast=fast)):
        assert len(called) == fast
