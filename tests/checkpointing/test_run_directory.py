"""Checkpoints survive kills, full disks, and concurrent processes."""

import dataclasses
import errno
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from annotated_transformer.checkpointing import files
from annotated_transformer.checkpointing import run_directory as keeping
from annotated_transformer.checkpointing.run_directory import RunDirectory
from annotated_transformer.checkpointing.training_state import read_progress
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch, make_batches
from annotated_transformer.training import trainer
from annotated_transformer.training.resumable_state import TrainingState
from annotated_transformer.training.trainer import TrainingStopped
from tests.tiny_run import BRIEF, STATE, STEPS, Run, lines, same


class Stopped(BaseException):
    """Simulates the end of the process."""


# Laws


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["saved at each step", "saved after epochs"])
def test_law_a_run_interrupted_at_any_step_gives_the_same_model_when_resumed(
    run: Run, tmp_path: Path, monkeypatch, seconds: float, copy_pairs
):
    validation = copy_pairs(5, seed=1)
    with RunDirectory(tmp_path / "whole", seconds=seconds) as run_directory:
        expected, _ = run(run_directory, validation=validation)
    update = trainer.update
    for last in range(0, STEPS, 3):  # before each batch of an epoch

        def stop(state: TrainingState, *args: object, last: int = last) -> str:
            if state.progress.step == last:
                raise Stopped
            return update(state, *args)

        monkeypatch.setattr(trainer, "update", stop)
        folder = tmp_path / (f"stopped at {last}" if seconds else "stopped")
        with RunDirectory(folder, seconds=seconds) as run_directory, pytest.raises(Stopped):
            run(run_directory, validation=validation)
        monkeypatch.setattr(trainer, "update", update)
        if seconds:
            with RunDirectory(folder, seconds=seconds) as run_directory:
                found, reports = run(run_directory, validation=validation)
            assert same(found, expected)
            assert reports[-1].step == STEPS
            assert lines(folder) == lines(tmp_path / "whole")
    if not seconds:
        with RunDirectory(tmp_path / "stopped", seconds=0.0) as run_directory:
            found, reports = run(run_directory, validation=validation)
        assert same(found, expected)
        assert lines(tmp_path / "stopped") == lines(tmp_path / "whole")


def test_law_a_run_without_updates_may_be_replaced(run: Run, tmp_path: Path):
    with RunDirectory(tmp_path) as run_directory, pytest.raises(TrainingStopped):
        run(run_directory, stop=lambda: True)
    assert read_progress(tmp_path).step == 0
    with RunDirectory(tmp_path) as run_directory:
        found, _ = run(run_directory, seed=1)
    assert same(found, run(None, seed=1)[0])
    with RunDirectory(tmp_path) as run_directory:
        again, reports = run(run_directory, seed=1)
    assert reports == []  # the state is that of the second run
    assert same(again, found)


def test_law_a_finished_run_can_be_extended(run: Run, tmp_path: Path):
    config = dataclasses.replace(BRIEF, fast=True)
    for steps in (3, 4, 5, STEPS):  # an epoch has four batches
        with RunDirectory(tmp_path) as run_directory:
            found, reports = run(run_directory, dataclasses.replace(config, steps=steps))
        assert reports[-1].step == read_progress(tmp_path).step == steps
    assert read_progress(tmp_path).seconds > 0
    assert same(found, run(None, config)[0])
    with RunDirectory(tmp_path) as run_directory:
        again, reports = run(run_directory, config)
    assert reports == []  # nothing is left to do
    assert same(again, found)


def test_law_a_checkpoint_is_due_when_the_last_one_is_old_enough(run: Run, tmp_path: Path, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(keeping.time, "monotonic", lambda: clock[0])
    with RunDirectory(tmp_path, seconds=7.0) as run_directory:
        run(run_directory, dataclasses.replace(BRIEF, steps=1))
        due = []
        for clock[0] in (1000.0, 1006.0, 1007.0, 1100.0):
            due.append(run_directory.is_due())
    assert due == [False, False, True, True]


@pytest.mark.parametrize("steps", [STEPS, 8], ids=["within an epoch", "at the end of an epoch"])
def test_law_the_time_limit_includes_the_time_of_earlier_runs(run: Run, tmp_path: Path, steps: int):
    with RunDirectory(tmp_path) as run_directory:
        run(run_directory, dataclasses.replace(BRIEF, steps=steps))
    assert (read_progress(tmp_path).batch == 0) == (steps == 8)
    with RunDirectory(tmp_path) as run_directory:
        _, reports = run(run_directory, dataclasses.replace(BRIEF, steps=None, minutes=1e-6))
    assert reports == []


def test_law_each_report_is_one_line_of_the_metrics_file(run: Run, tmp_path: Path, copy_pairs):
    validation = copy_pairs(5, seed=1)
    with RunDirectory(tmp_path) as run_directory:
        _, reports = run(run_directory, validation=validation)
    found = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert found == [dataclasses.asdict(report) for report in reports]
    assert [line["epoch"] for line in found] == list(range(1, len(found) + 1))
    assert all(line["gradient_norm"] > 0 and line["tokens_per_second"] > 0 for line in found)
    assert found[0]["lr"] == pytest.approx(1e-2 * (3 / found[0]["step"]) ** 0.5)


def test_law_resuming_drops_the_metrics_of_lost_steps(run: Run, tmp_path: Path, monkeypatch):
    with RunDirectory(tmp_path / "whole") as run_directory:
        run(run_directory)
    with RunDirectory(tmp_path / "killed") as run_directory:  # stopped between its second line and the state
        saves = iter([run_directory.save, None])
        monkeypatch.setattr(run_directory, "save", lambda state: next(saves)(state))
        with pytest.raises(TypeError, match="not callable"):
            run(run_directory)
    assert len(lines(tmp_path / "killed")) == 2
    with RunDirectory(tmp_path / "killed") as run_directory:
        run(run_directory)
    assert lines(tmp_path / "killed") == lines(tmp_path / "whole")


def test_law_a_run_resumes_wherever_the_last_line_of_metrics_was_cut_off(run: Run, tmp_path: Path):
    metrics = tmp_path / "metrics.jsonl"
    with RunDirectory(tmp_path) as run_directory:
        run(run_directory)
    state, whole, before = (tmp_path / STATE).read_bytes(), metrics.read_bytes(), lines(tmp_path)
    start = whole[:-1].rindex(b"\n") + 1
    for end in (start, start + 1, start + 99, len(whole) - 2, len(whole) - 1):
        metrics.write_bytes(whole[:end])
        (tmp_path / STATE).write_bytes(state)
        with RunDirectory(tmp_path) as run_directory:
            run(run_directory, dataclasses.replace(BRIEF, steps=STEPS + 1))
        *kept, last = lines(tmp_path)
        assert kept == (before if end == len(whole) - 1 else before[:-1])
        assert last["step"] == STEPS + 1


# Messages


@pytest.mark.message
def test_message_a_last_line_of_metrics_that_was_cut_off(run: Run, tmp_path: Path):
    with RunDirectory(tmp_path) as run_directory:
        run(run_directory)
    metrics, log = tmp_path / "metrics.jsonl", []
    metrics.write_bytes(metrics.read_bytes()[:-2])
    with RunDirectory(tmp_path, log=log.append) as run_directory:
        run(run_directory)
    assert re.search(
        r"metrics\.jsonl: the last line, b'\{\"step\": 17, .*'…, was cut off; it is left out$", log[-1]
    )


@pytest.mark.message
def test_message_the_state_of_another_training_run(run: Run, tmp_path: Path, copy_pairs, make_model):
    config, identity = dataclasses.replace(BRIEF, steps=1), {"tokenizer": "ab"}
    more = dataclasses.replace(config, steps=2)
    with RunDirectory(tmp_path, identity=identity) as run_directory:
        run(run_directory, config)
    for sentence, other, given, known in (
        ("batch_tokens was 53 and is 59", run, {"config": dataclasses.replace(more, batch_tokens=59)}, {}),
        ("seed was 0 and is 1", run, {"seed": 1}, {}),
        ("tokenizer was ab and is ef", run, {}, {"tokenizer": "ef"}),
        ("corpus was not given and is cd", run, {}, {"corpus": "cd"}),
        ("pairs is not the same", Run(make_model, copy_pairs(29)), {}, {}),
        ("d_ff was 14 and is 15", Run(lambda: make_model(d_ff=15), run.pairs), {}, {}),
    ):
        message = f"safetensors is the state of another training run: {sentence}; resume with the settings"
        with (
            RunDirectory(tmp_path, identity=identity | known) as run_directory,
            pytest.raises(ValueError, match=message),
        ):
            other(run_directory, **{"config": more, **given})
    with RunDirectory(tmp_path, identity=identity) as run_directory:
        found, _ = run(run_directory, more)  # the state is still there
    assert same(found, run(None, more)[0])


@pytest.mark.message
def test_message_metrics_that_are_not_utf_8(run: Run, tmp_path: Path):
    (tmp_path / "metrics.jsonl").write_bytes(b'{"step": 1}\n\xff\n')
    message = r"metrics\.jsonl, line 2: byte 1 is 0xff, which is not UTF-8"
    with RunDirectory(tmp_path) as run_directory, pytest.raises(ValueError, match=message):
        run(run_directory)


@pytest.mark.message
@pytest.mark.parametrize("seconds", [-60.0, math.nan])
def test_message_an_invalid_time_between_saves(tmp_path: Path, seconds: float):
    message = f"{seconds} seconds between two saves is not a duration"
    with pytest.raises(ValueError, match=message):
        RunDirectory(tmp_path, seconds=seconds)


@pytest.mark.message
def test_message_resuming_with_another_number_of_threads(run: Run, tmp_path: Path, monkeypatch):
    with RunDirectory(tmp_path) as run_directory:
        run(run_directory, dataclasses.replace(BRIEF, steps=3))
    with RunDirectory(tmp_path) as run_directory:
        run(run_directory, dataclasses.replace(BRIEF, steps=4))  # a warning would be an error here
    threads = torch.get_num_threads()
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3 * threads)
    message = f"used {threads} CPU threads and resumes with {3 * threads}: .* resume with {threads} for"
    with RunDirectory(tmp_path) as run_directory, pytest.warns(UserWarning, match=message):
        run(run_directory, dataclasses.replace(BRIEF, steps=5))


@pytest.mark.message
def test_message_a_folder_that_cannot_be_made(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    message = r"cannot write to \S*file/run \(Not a directory\); give another folder"
    with pytest.raises(OSError, match=message):
        RunDirectory(tmp_path / "file" / "run").__enter__()


@pytest.mark.message
def test_message_two_runs_in_one_folder(run: Run, tmp_path: Path):
    script = "from annotated_transformer.checkpointing.run_directory import RunDirectory\n"
    script += f"RunDirectory({str(tmp_path)!r}).__enter__()"
    with RunDirectory(tmp_path):
        with pytest.raises(BlockingIOError, match=rf"process {os.getpid()} is training into .*; wait for"):
            RunDirectory(tmp_path).__enter__()
        second = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert f"process {os.getpid()} is training into" in second.stderr
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
    with RunDirectory(tmp_path):  # the lock file is left over from a process that has ended
        assert (tmp_path / "training.lock").read_text() == f"{os.getpid()}\n"


@pytest.mark.message
@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EIO])
def test_message_a_file_system_without_locks(run: Run, tmp_path: Path, monkeypatch, code: int):
    def refuse(handle: int, operation: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(keeping.fcntl, "flock", refuse)
    messages: list[str] = []
    run_directory = RunDirectory(tmp_path, log=messages.append)
    if code == errno.EIO:
        with pytest.raises(OSError, match=r"cannot write to .* \(Input/output error\); give another folder"):
            run_directory.__enter__()
        return
    with run_directory:
        found, _ = run(run_directory)
    assert same(found, run(None)[0])
    (message,) = messages
    expected = rf"the file system of {re.escape(str(tmp_path))} has no locks \({os.strerror(code)}\); make"
    assert re.match(expected, message)


@pytest.mark.message
@pytest.mark.parametrize("function", ["ftruncate", "write"])
def test_message_a_full_disk_keeps_no_lock(tmp_path: Path, monkeypatch, function: str):
    def full(handle: int, content: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(keeping.os, function, full)
        with pytest.raises(OSError, match=r"cannot write to .* \(No space left on device\); give another"):
            RunDirectory(tmp_path).__enter__()
    with RunDirectory(tmp_path):  # in the same process, after making room
        assert (tmp_path / "training.lock").read_text() == f"{os.getpid()}\n"


@pytest.mark.message
@pytest.mark.parametrize("failing", [1, 11])  # the calls in between sync the folder
def test_message_a_full_disk_leaves_the_last_state(run: Run, tmp_path: Path, monkeypatch, failing: int):
    calls, fsync = 0, os.fsync

    def full(handle: int) -> None:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    monkeypatch.setattr(files.os, "fsync", full)
    message = r"cannot save to .* \(No space left on device\); what was there is still there: make room"
    with RunDirectory(tmp_path, seconds=0.0) as run_directory, pytest.raises(OSError, match=message):
        run(run_directory)
    monkeypatch.setattr(files.os, "fsync", fsync)
    assert not list(tmp_path.glob("*.tmp"))
    with RunDirectory(tmp_path, seconds=0.0) as run_directory:
        found, _ = run(run_directory)
    assert same(found, run(None)[0])


@pytest.mark.message
@pytest.mark.parametrize("what", ["loss", "gradient"])
def test_message_divergence_names_the_batch_and_keeps_the_previous_step(run, tmp_path, monkeypatch, what):
    diverging, batch_loss = 8, trainer.batch_loss
    step = 0

    def diverge(objective: nn.Module, batch: Batch, model: Transformer) -> Tensor:
        nonlocal step
        step += 1
        loss = batch_loss(objective, batch, model)
        if step != diverging:
            return loss
        if what == "loss":
            return loss * torch.inf
        return loss + (model.embedding.weight.sum() * 0).sqrt()  # with gradient NaN

    monkeypatch.setattr(trainer, "batch_loss", diverge)
    name = "loss is inf" if what == "loss" else "gradient norm is nan"
    epoch = len(make_batches(run.pairs, batch_tokens=53))
    message = (
        rf"the {name} at step 8, lr 6\.12e-03, in batch {8 - epoch} of epoch 2 "
        rf"\(pairs \d+(, \d+)+(, …)?\): training has diverged; give a smaller max_lr, or more than "
        rf"warmup_steps=3; step {epoch} is saved in {re.escape(str(tmp_path))}$"
    )
    with RunDirectory(tmp_path) as run_directory, pytest.raises(FloatingPointError, match=message):
        run(run_directory)
    monkeypatch.setattr(trainer, "batch_loss", batch_loss)
    with RunDirectory(tmp_path) as run_directory:
        found, _ = run(run_directory)
    assert same(found, run(None)[0])


@pytest.mark.message
def test_message_divergence_at_the_first_step_does_not_claim_a_saved_state(run, tmp_path, monkeypatch):
    def diverge(objective: nn.Module, batch: Batch, model: Transformer) -> Tensor:
        return model.embedding.weight.sum() * math.nan

    monkeypatch.setattr(trainer, "batch_loss", diverge)
    with (
        RunDirectory(tmp_path) as run_directory,
        pytest.raises(FloatingPointError, match="the loss is nan") as error,
    ):
        run(run_directory)
    assert "is saved" not in str(error.value)


@pytest.mark.message
@pytest.mark.parametrize("name", ["metrics.jsonl", STATE, "training.lock"])
def test_message_a_fifo_in_the_folder(run: Run, tmp_path: Path, name: str):
    os.mkfifo(tmp_path / name)
    message = rf"{name} is not a regular file; move it away, or give another folder"
    with pytest.raises(ValueError, match=message), RunDirectory(tmp_path) as run_directory:
        run(run_directory)
