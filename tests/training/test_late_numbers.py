"""Losses that are read some updates later, as on a GPU: the same weights, reports, and refusals."""

import dataclasses
import math
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from annotated_transformer.checkpointing.run_directory import RunDirectory
from annotated_transformer.checkpointing.training_state_file import read_progress
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch, make_batches
from annotated_transformer.training import trainer
from annotated_transformer.training.late_numbers import LATE
from annotated_transformer.training.training_state import TrainingState
from tests.small_training import BRIEF, model, rng
from tests.synchronization import no_synchronization
from tests.tiny_run import STEPS, Run, lines, same

AT = 5  # the update that diverges, the first of the second epoch
pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LATE, "cpu", 3)


@pytest.fixture
def diverging(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Tensor]]:
    """Let the gradient of an update be NaN; return the weights before each."""
    batch_loss, before = trainer.batch_loss, []

    def diverge(objective: nn.Module, batch: Batch, model: Transformer) -> Tensor:
        before.append({name: weight.clone() for name, weight in model.state_dict().items()})
        loss = batch_loss(objective, batch, model)
        return loss * math.nan if len(before) == AT else loss

    monkeypatch.setattr(trainer, "batch_loss", diverge)
    return before


def test_law_a_run_has_the_same_weights_and_metrics(run: Run, tmp_path: Path, monkeypatch, copy_pairs):
    validation = copy_pairs(5, seed=1)
    expected, _ = run.into(tmp_path / "at once", validation=validation, seconds=0.0)
    monkeypatch.setitem(LATE, "cpu", 3)
    found, _ = run.into(tmp_path / "late", validation=validation, seconds=0.0)
    assert same(found, expected)
    assert lines(tmp_path / "late") == lines(tmp_path / "at once")
    assert read_progress(tmp_path / "late").step == STEPS


@pytest.mark.usefixtures("late")
def test_law_the_line_of_an_update_is_that_of_an_earlier_one(copy_pairs):
    one, parts = model(), make_batches(copy_pairs(3), batch_tokens=53)
    state = TrainingState(one, torch.optim.Adam(one.parameters(), fused=True), rng())
    with trainer.training_loss(one, BRIEF) as loss:
        found = [trainer.update(state, loss, parts, BRIEF) for _ in range(5)]
    assert found[:3] == ["step 1", "step 2", "step 3"]
    assert [line.partition(", ")[0] for line in found[3:]] == ["step 1", "step 2"]
    assert len(state.unread) == 3
    assert trainer.read_losses(state, BRIEF).startswith("step 5, loss")
    assert not state.unread


@pytest.mark.message
@pytest.mark.usefixtures("late")
def test_message_divergence_is_noticed_late_and_the_weights_are_those_before_it(copy_pairs, diverging):
    one, pairs = model(), copy_pairs(23)
    epoch = len(make_batches(pairs, batch_tokens=53))
    message = rf"^the loss is nan at step {AT}, lr 7\.75e-03, in batch {AT - epoch} of epoch 2 \("
    with pytest.raises(FloatingPointError, match=message):
        trainer.train(one, pairs, dataclasses.replace(BRIEF, steps=19), generator=rng())
    assert len(diverging) == AT + 3
    assert all(torch.equal(weight, diverging[AT - 1][name]) for name, weight in one.state_dict().items())
    assert not torch.equal(one.embedding.weight, diverging[AT - 2]["embedding.weight"])


@pytest.mark.usefixtures("late")
@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["saved at each step", "saved after epochs"])
def test_law_a_diverged_state_is_not_saved(run: Run, tmp_path: Path, diverging, monkeypatch, seconds: float):
    with RunDirectory(tmp_path, seconds=seconds) as run_directory, pytest.raises(FloatingPointError):
        run(run_directory)
    saved = read_progress(tmp_path).step
    assert saved == (AT - 1 if seconds == 0 else len(make_batches(run.pairs, batch_tokens=53)))
    monkeypatch.undo()
    found, _ = run.into(tmp_path, seconds=seconds)
    assert same(found, run(None)[0])


def test_law_an_update_decides_nothing_that_the_cpu_would_wait_for(copy_pairs):
    one, (batch,) = model(), make_batches(copy_pairs(3), batch_tokens=53)
    state = TrainingState(one, torch.optim.Adam(one.parameters(), fused=True), rng())
    one(batch.src, batch.decoder_input).square().mean().backward()
    before = one.embedding.weight.clone()
    config = dataclasses.replace(BRIEF, clip_norm=0.5)
    with no_synchronization():
        trainer.step(state, torch.ones((), dtype=torch.float64), config)
    assert not torch.equal(one.embedding.weight, before)
