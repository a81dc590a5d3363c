"""How `train` interprets its options; training itself is tested in `tests/test_command_line.py`."""

import argparse
import contextlib
import dataclasses
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from annotated_transformer import __main__ as command_line
from annotated_transformer.checkpointing.run_directory import RunDirectory
from annotated_transformer.checkpointing.training_state_file import STATE_FILE, Progress
from annotated_transformer.commands import train as module
from annotated_transformer.config import TINY
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training import recipe, trainer
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.distributed import ProcessGroup
from annotated_transformer.training.training_state import TrainingState

TEXTS = {"en": "A {} b.\n", "de": "Ein {} „d“.\n"}


class Seen:
    """The arguments of the last call to `train`."""

    model: Transformer
    config: TrainingConfig
    run_directory: RunDirectory


@pytest.fixture
def seen(monkeypatch) -> Seen:
    seen = Seen()

    def train(
        model: Transformer, pairs: object, config: TrainingConfig, *, run_directory: RunDirectory, **_: object
    ):
        seen.model, seen.config, seen.run_directory = model, config, run_directory
        raise KeyboardInterrupt

    monkeypatch.setattr(recipe, "train_epochs", train)
    return seen


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for language, text in TEXTS.items():
        lines = "".join(text.format(i) for i in range(211))
        (tmp_path / f"train.{language}").write_text(lines, encoding="utf-8")
    return tmp_path


def begin(data: Path, *options: str) -> None:
    arguments = ["train", "--data", str(data), "--out", str(data / "out"), "--vocab-size", "271", *options]
    assert command_line.main([*arguments, "--steps", "1"]) == 130


def test_law_the_defaults(data: Path, seen: Seen):
    begin(data, "--device", "cpu")
    settings = {"batch_tokens": 2048, "warmup_steps": 1000, "max_lr": 3e-3, "label_smoothing": 0.1}
    assert seen.config == TrainingConfig(**settings, steps=1, minutes=None, fast=False, bf16=False)
    assert seen.model.config == dataclasses.replace(TINY, vocab_size=271, dropout=0.1)
    assert next(seen.model.parameters()).device == torch.device("cpu")
    assert seen.run_directory.seconds == 180
    assert seen.run_directory.identity["bidirectional"] == 0


def test_law_options_set_the_config_the_shape_and_the_identity_of_the_run(data: Path, seen: Seen):
    settings = {"batch_tokens": 53, "warmup_steps": 7, "max_lr": 0.01, "label_smoothing": 0.3}
    shape = {"num_layers": 1, "d_model": 22, "d_ff": 7, "num_heads": 11, "dropout": 0.0, "norm": "pre"}
    fields = settings | shape
    options = [word for name in fields for word in (f"--{name.replace('_', '-')}", str(fields[name]))]
    more = ["--fast", "--bf16", "--save-minutes", "7", "--bidirectional", "2"]
    begin(data, *options, *more, "--device", "cpu")
    assert seen.config == TrainingConfig(**settings, steps=1, fast=True, bf16=True)
    assert seen.model.config == dataclasses.replace(TINY, vocab_size=271, **shape)
    assert seen.run_directory.seconds == 420
    assert seen.run_directory.identity["bidirectional"] == 2


def test_law_the_model_is_on_the_given_device(data: Path, seen: Seen, monkeypatch):
    asked = []

    def take(name: str | None) -> torch.device:
        asked.append(name)
        return torch.device("meta")  # exists on every machine

    monkeypatch.setattr(module, "take_device", take)
    begin(data)
    assert next(seen.model.parameters()).device == torch.device("meta")
    begin(data, "--device", "cuda")
    assert asked == [None, "cuda"]


@pytest.mark.parametrize(
    ("rank", "processes", "program"),
    [
        (0, 1, f"{sys.executable} -m annotated_transformer"),
        (0, 3, f"{sys.executable} -m torch.distributed.run --standalone --nproc-per-node=3 -m -- annotated_"),
        (2, 3, ""),
    ],
)
def test_law_rank_0_logs_the_command_that_resumes_with_as_many_processes(
    data: Path, monkeypatch, capsys, rank: int, processes: int, program: str
):
    group = ProcessGroup()
    group.rank, group.world_size = rank, processes

    def train(*_: object, **options: object) -> None:
        (data / "out" / STATE_FILE).touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "join_process_group", lambda: contextlib.nullcontext(group))
    monkeypatch.setattr(module, "read_progress", lambda folder: Progress(step=7))
    monkeypatch.setattr(recipe, "train_epochs", train)
    begin(data)
    _, resume, command = capsys.readouterr().err.partition(
        f"step 7 is saved in {data / 'out'}; to resume, run\n"
    )
    assert command.startswith(f"cd {Path.cwd()} && {program}" if program else "")
    assert bool(resume) is bool(program)


def test_law_on_several_machines_rank_0_logs_to_start_torchrun_again(data: Path, monkeypatch):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setattr(module, "read_progress", lambda folder: Progress(step=7))
    group = ProcessGroup()
    group.world_size = 4
    hint = module._how_to_resume(argparse.Namespace(out=data / "out", arguments=["train"]), group)
    assert hint.endswith("; to resume, start torchrun again on each machine, as before")


SCRIPT = """#!{python}
import sys
from annotated_transformer.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("name", ["annotated-transformer", "other"])
def test_law_the_logged_command_resumes_the_run_from_another_folder(data, root, monkeypatch, capsys, name):
    """With the installed script, and with `python -m` for any other way to start."""
    begun, script, update = data / "a folder", data / "bin" / name, trainer.update
    for folder in (begun, script.parent):
        folder.mkdir()
    script.write_text(SCRIPT.format(python=sys.executable))
    script.chmod(0o755)

    def stop(state: TrainingState, *rest: object) -> trainer.Update:
        made = update(state, *rest)
        if state.progress.step == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return made

    monkeypatch.chdir(begun)
    monkeypatch.setattr(sys, "argv", [str(script)])
    monkeypatch.setattr(trainer, "update", stop)
    small = ["--num-layers", "1", "--d-model", "8", "--d-ff", "8", "--batch-tokens", "99"]
    arguments = ["train", "--data", "..", "--out", "my run", "--vocab-size", "271", "--steps", "3", *small]
    assert command_line.main(arguments) == 130
    command = capsys.readouterr().err.partition("; to resume, run\n")[2].splitlines()[0]
    assert (str(script) if name == "annotated-transformer" else sys.executable) in command
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        command, shell=True, cwd=data, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said = done.stderr.splitlines()
    assert "resuming at step 2" in said
    assert said[-1].endswith("has the model of step 3")


@pytest.mark.message
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--device", "cuda"], "--device cuda, but PyTorch"),
        (["--save-minutes", "-1"], "--save-minutes -1 is not a duration; give 0 (after each update) or more"),
        (["--save-minutes", "nan"], "--save-minutes nan is not a duration; give 0"),
        (["--bpe-dropout", "2"], "--bpe-dropout 2.0 is not a probability; give 0 (none)"),
    ],
)
def test_message_a_user_error_is_one_sentence(data, options, sentence, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    arguments = ["train", "--data", str(data), "--out", str(data / "out"), "--steps", "1", *options]
    assert command_line.main(arguments) == 2
    assert capsys.readouterr().err.startswith(f"error: {sentence}")


@pytest.mark.message
def test_message_a_folder_that_cannot_be_made(data: Path, capsys, monkeypatch):
    def read_only(self: Path, **options: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", read_only)
    out = data / "out"
    assert command_line.main(["train", "--data", str(data), "--out", str(out), "--steps", "1"]) == 2
    message = f"error: --out {out} cannot be made (Read-only file system); give another folder\n"
    assert capsys.readouterr().err.endswith(message)
