"""Checkpoints survive kills, full disks, and concurrent processes."""

import dataclasses
import errno
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from torch import Tensor, nn

from annotated_transformer.checkpointing import run_directory as keeping
from annotated_transformer.checkpointing.run_directory import RunDirectory
from annotated_transformer.checkpointing.training_state_file import STATE_FILE, read_progress
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch, make_batches
from annotated_transformer.training import trainer
from annotated_transformer.training.training_state import TrainingState
from tests.tiny_run import BRIEF, STEPS, Run, lines, same


class Stopped(BaseException):
    """Simulates the end of the process."""


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["saved at each step", "saved after epochs"])
def test_law_a_run_interrupted_at_any_step_gives_the_same_model_when_resumed(
    run: Run, tmp_path: Path, monkeypatch, seconds: float, copy_pairs
):
    validation = copy_pairs(5, seed=1)
    expected, _ = run.into(tmp_path / "whole", validation=validation, seconds=seconds)
    update = trainer.update
    for last in range(0, STEPS, 3):  # before each batch of an epoch

        def stop(state: TrainingState, *args: object, last: int = last) -> trainer.Update:
            if state.progress.step == last:
                raise Stopped
            return update(state, *args)

        monkeypatch.setattr(trainer, "update", stop)
        folder = tmp_path / (f"stopped at {last}" if seconds else "stopped")
        with RunDirectory(folder, seconds=seconds) as run_directory, pytest.raises(Stopped):
            run(run_directory, validation=validation)
        monkeypatch.setattr(trainer, "update", update)
        if seconds or last + 3 >= STEPS:
            weights, reports = run.into(folder, validation=validation, seconds=seconds)
            assert same(weights, expected)
            assert reports[-1].step == STEPS
            assert lines(folder) == lines(tmp_path / "whole")


def test_law_a_finished_run_can_be_extended(run: Run, tmp_path: Path):
    config = dataclasses.replace(BRIEF, fast=True)
    for steps in (3, 4, 5, STEPS):  # an epoch has four batches
        _, reports = run.into(tmp_path, dataclasses.replace(config, steps=steps))
        assert reports[-1].step == read_progress(tmp_path).step == steps
    assert read_progress(tmp_path).seconds > 0
    weights, reports = run.into(tmp_path, config)
    assert reports == []  # nothing is left to do
    assert same(weights, run(None, config)[0])


def test_law_a_checkpoint_is_due_when_the_last_one_is_old_enough(run: Run, tmp_path: Path, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(keeping.time, "monotonic", lambda: clock[0])
    with RunDirectory(tmp_path, seconds=7.0) as run_directory:
        run(run_directory, dataclasses.replace(BRIEF, steps=1))
        for clock[0], due in ((1000.0, False), (1006.0, False), (1007.0, True), (1100.0, True)):
            assert run_directory.is_due() == due


def test_law_the_time_limit_includes_the_time_of_earlier_runs(run: Run, tmp_path: Path):
    for steps, batch in ((8, 0), (STEPS, 1)):  # at the end of an epoch, and within one
        run.into(tmp_path, dataclasses.replace(BRIEF, steps=steps))
        assert read_progress(tmp_path).batch == batch
        assert run.into(tmp_path, dataclasses.replace(BRIEF, steps=None, minutes=1e-6))[1] == []


def test_law_resuming_drops_the_metrics_of_lost_steps(run: Run, tmp_path: Path, monkeypatch):
    run.into(tmp_path / "whole")
    with RunDirectory(tmp_path / "killed") as run_directory:  # stopped between its second line and the state
        saves = iter([run_directory.save, None])
        monkeypatch.setattr(run_directory, "save", lambda state: next(saves)(state))
        with pytest.raises(TypeError, match="not callable"):
            run(run_directory)
    assert len(lines(tmp_path / "killed")) == 2
    run.into(tmp_path / "killed")
    assert lines(tmp_path / "killed") == lines(tmp_path / "whole")


@pytest.mark.message
def test_law_a_run_resumes_wherever_the_last_line_of_metrics_was_cut_off(run: Run, tmp_path: Path):
    metrics, more = tmp_path / "metrics.jsonl", dataclasses.replace(BRIEF, steps=STEPS + 1)
    run.into(tmp_path)
    state, whole, before = (tmp_path / STATE_FILE).read_bytes(), metrics.read_bytes(), lines(tmp_path)
    start = whole[:-1].rindex(b"\n") + 1
    sentence = r"metrics\.jsonl: the last line, b'\{.*'…, was cut off; it is left out$"
    for end in (start, start + 1, start + 99, len(whole) - 2, len(whole) - 1):
        log: list[str] = []
        metrics.write_bytes(whole[:end])
        (tmp_path / STATE_FILE).write_bytes(state)
        with RunDirectory(tmp_path, log=log.append) as run_directory:
            run(run_directory, more)
        *earlier, last = lines(tmp_path)
        assert earlier == (before if end == len(whole) - 1 else before[:-1])
        assert last["step"] == STEPS + 1
        assert any(re.search(sentence, message) for message in log) == (start < end < len(whole) - 1)


@pytest.mark.message
def test_message_the_state_of_another_training_run(run: Run, tmp_path: Path, copy_pairs, make_model):
    config, identity = dataclasses.replace(BRIEF, steps=1), {"tokenizer": "ab"}
    more = dataclasses.replace(config, steps=2)
    with RunDirectory(tmp_path, identity=identity) as run_directory:
        run(run_directory, config)
    for sentence, other, options, labels in (
        ("batch_tokens was 53 and is 59", run, {"config": dataclasses.replace(more, batch_tokens=59)}, {}),
        ("fast was False and is True", run, {"config": dataclasses.replace(more, fast=True)}, {}),
        ("criterion was not given and is len", run, {"criterion": len}, {}),
        ("seed was 0 and is 1", run, {"seed": 1}, {}),
        ("tokenizer was ab and is ef", run, {}, {"tokenizer": "ef"}),
        ("corpus was not given and is cd", run, {}, {"corpus": "cd"}),
        ("pairs is not the same", Run(make_model, copy_pairs(29)), {}, {}),
        ("d_ff was 14 and is 15", Run(lambda: make_model(d_ff=15), run.pairs), {}, {}),
    ):
        message = f"safetensors is the state of another training run: {sentence}; resume with the settings"
        with (
            RunDirectory(tmp_path, identity=identity | labels) as run_directory,
            pytest.raises(ValueError, match=message),
        ):
            other(run_directory, **{"config": more, **options})
    with RunDirectory(tmp_path, identity=identity) as run_directory:
        weights, _ = run(run_directory, more)  # the state is still there
    assert same(weights, run(None, more)[0])


@pytest.mark.message
@pytest.mark.parametrize("seconds", [-60.0, math.nan])
def test_message_a_time_that_is_none(tmp_path: Path, seconds: float):
    with pytest.raises(ValueError, match=f"{seconds} seconds between two saves is not a duration"):
        RunDirectory(tmp_path, seconds=seconds)


@pytest.mark.message
@pytest.mark.parametrize(
    ("function", "code"),
    [
        ("Path.mkdir", errno.ENOTDIR),
        ("fcntl.flock", errno.EIO),
        ("os.ftruncate", errno.ENOSPC),
        ("os.write", errno.ENOSPC),
    ],
)
def test_message_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch, function: str, code: int):
    with monkeypatch.context() as patch:
        failure = Mock(side_effect=OSError(code, os.strerror(code)))
        patch.setattr(f"{keeping.__name__}.{function}", failure)
        with pytest.raises(
            OSError, match=rf"cannot write to .* \({os.strerror(code)}\); give another folder"
        ):
            RunDirectory(tmp_path).__enter__()
    with RunDirectory(tmp_path):  # in the same process, after making room: no lock is kept
        assert (tmp_path / "training.lock").read_text() == f"{os.getpid()}\n"


@pytest.mark.message
def test_message_resuming_with_another_number_of_threads(run: Run, tmp_path: Path, monkeypatch):
    run.into(tmp_path, dataclasses.replace(BRIEF, steps=3))
    with RunDirectory(tmp_path) as run_directory:
        run(run_directory, dataclasses.replace(BRIEF, steps=4))  # a warning would be an error here
    threads = torch.get_num_threads()
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3 * threads)
    message = f"used {threads} CPU threads and resumes with {3 * threads}: .* resume with {threads} for"
    with RunDirectory(tmp_path) as run_directory, pytest.warns(UserWarning, match=message):
        run(run_directory, dataclasses.replace(BRIEF, steps=5))


@pytest.mark.message
def test_message_resuming_with_edited_code(run: Run, tmp_path: Path, monkeypatch):
    """An older version stored no digest: its state resumes without a word, which would be an error here."""
    digest = "annotated_transformer.training.trainer.source_digest"
    for steps, code in ((2, ""), (3, "a"), (4, "a")):
        monkeypatch.setattr(digest, lambda model, code=code: code)
        run.into(tmp_path, dataclasses.replace(BRIEF, steps=steps))
    monkeypatch.undo()
    message = (
        r"edited since the training run in .* was saved at step 4, .* next steps; .*, give another folder"
    )
    with pytest.warns(UserWarning, match=message):
        weights, _ = run.into(tmp_path)
    assert same(weights, run(None)[0])


SECOND = """
import sys
from annotated_transformer.checkpointing.run_directory import RunDirectory
try:
    RunDirectory(sys.argv[1]).__enter__()
except BlockingIOError as error:
    print(error, flush=True)
input()  # until the first run has ended
RunDirectory(sys.argv[1]).__enter__()
"""


@pytest.mark.message
def test_message_two_runs_in_one_folder(run: Run, tmp_path: Path):
    command = [sys.executable, "-c", SECOND, tmp_path]
    with RunDirectory(tmp_path):
        sentence = f"process {os.getpid()} is training into {tmp_path}; wait for it, or give another folder"
        with pytest.raises(BlockingIOError, match=f"^{re.escape(sentence)}$"):
            RunDirectory(tmp_path).__enter__()
        second = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert second.stdout.readline() == f"{sentence}\n"
    assert second.communicate("\n") == ("", None)
    assert second.returncode == 0
    with RunDirectory(tmp_path):  # the lock file is left over from a process that has ended
        assert (tmp_path / "training.lock").read_text() == f"{os.getpid()}\n"


@pytest.mark.message
@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK])
def test_message_a_file_system_without_locks(run: Run, tmp_path: Path, monkeypatch, code: int):
    monkeypatch.setattr(keeping.fcntl, "flock", Mock(side_effect=OSError(code, os.strerror(code))))
    messages: list[str] = []
    with RunDirectory(tmp_path, log=messages.append) as run_directory:
        weights, _ = run(run_directory)
    assert same(weights, run(None)[0])
    expected = rf"the file system of {re.escape(str(tmp_path))} has no locks \({os.strerror(code)}\); make"
    assert re.match(expected, *messages)


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
    assert same(run.into(tmp_path)[0], run(None)[0])
