"""How `train` interprets its options, its config file, and the user's files; it is run elsewhere."""

import contextlib
import dataclasses
import json
import re
import shlex
import sys
from pathlib import Path

import pytest
import torch

from annotated_transformer import __main__ as command_line
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.training_state_file import STATE_FILE, Progress
from annotated_transformer.commands.options.corpus import own_files, read_corpus
from annotated_transformer.commands.options.training import (
    DEFAULT_SHAPE,
    model_config,
    start_folder,
    training_config,
)
from annotated_transformer.commands.running import train as module
from annotated_transformer.config import TransformerConfig
from annotated_transformer.devices import take_device
from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.training.config import Recipe, TrainingConfig
from annotated_transformer.training.distributed import ProcessGroup

# Every field, with a value other than its default.
MODEL = json.loads("""{
    "vocab_size": 307, "max_length": 61, "num_layers": 3, "d_model": 22, "d_ff": 53, "num_heads": 2,
    "d_k": 5, "d_v": 7, "dropout": 0.0, "norm": "pre", "final_norm": false, "activation": "gelu",
    "positions": "learned", "attention": "fused", "attention_bias": true, "output_bias": true,
    "tied_output": false}""")
TRAINING = json.loads("""{
    "steps": 11, "minutes": 1.5, "patience": 3, "batch_tokens": 101, "accumulate": 3,
    "warmup_steps": 13, "max_lr": 0.25, "clip_norm": 0.7,
    "label_smoothing": 0.25, "bf16": true, "fast": true}""")
PYTHON = re.escape(shlex.quote(sys.executable))
TORCHRUN = f"{PYTHON} -m torch.distributed.run --standalone --nproc-per-node=3"
RECIPE = {"bpe_dropout": 0.5, "bidirectional": 2, "average": 3, "keep": "best"}


def parsed(*arguments: object):
    return command_line._parser(["train"]).parse_args(["train", "--out", "out", *map(str, arguments)])


def options(fields: dict[str, object]) -> list[str]:
    words = []
    for name, value in fields.items():
        flag = name.replace("_", "-")
        words += [f"--no-{flag}" if value is False else f"--{flag}"]
        words += [] if isinstance(value, bool) else [str(value)]
    return words


def test_law_each_field_of_the_configs_can_be_set_by_an_option_or_by_the_file(tmp_path: Path):
    file, empty = tmp_path / "settings.json", tmp_path / "empty.json"
    file.write_text(json.dumps({"model": MODEL | {"pad_id": 3}, "training": TRAINING | {"max_lr": None}}))
    empty.write_text("\ufeff{}", encoding="utf-8")  # as Windows saves UTF-8
    of_options = parsed(*options(MODEL | TRAINING))
    assert model_config(of_options, None) == TransformerConfig(**MODEL)
    assert training_config(of_options) == TrainingConfig(**TRAINING)
    of_file = parsed("--config", file)
    assert model_config(of_file, None) == TransformerConfig(**MODEL, pad_id=3)
    assert training_config(of_file) == TrainingConfig(**TRAINING | {"max_lr": None})
    both = parsed("--config", file, "--d-ff", 17, "--no-bf16")
    assert model_config(both, None).d_ff == 17
    assert training_config(both).bf16 is False
    defaults = {"batch_tokens": 2048, "warmup_steps": 1000, "max_lr": 3e-3, "steps": None, "minutes": 2.0}
    for none in (parsed("--minutes", 2), parsed("--minutes", 2, "--config", empty)):
        assert model_config(none, None) == DEFAULT_SHAPE
        assert training_config(none) == TrainingConfig(**defaults)


def test_law_a_starting_model_determines_the_shape_but_not_the_dropout(folder, pretrained, monkeypatch):
    config = checkpoint.load(folder)[0].config
    assert config.dropout != 0.1
    assert model_config(parsed(), folder) == dataclasses.replace(config, dropout=0.1)
    assert model_config(parsed("--dropout", 0.5), folder) == dataclasses.replace(config, dropout=0.5)
    assert start_folder(Path("en-de")) == pretrained
    assert start_folder(Path("en-fr")) == Path("en-fr")
    monkeypatch.chdir(folder.parent)
    assert start_folder(Path("en-de")) == Path("en-de")  # the user's own folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch) -> Path:
    """Make a folder current that holds pairs as `a.txt` and `b.txt`, and as `pairs.tsv`."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        Path(f"{name}.txt").write_text("".join(f"{name} {i}.\n" for i in range(211)))
    Path("pairs.tsv").write_text("".join(f"x\tb {i}.\ta {i}.\n" for i in range(211)))
    return tmp_path


OWN = ["--train-source", "a.txt", "--train-target", "b.txt"]
TSV = ["--train-tsv", "pairs.tsv", "--columns", "3,2"]


def test_law_own_files_are_split_as_in_a_folder(place: Path):
    own = [read_corpus(parsed(*files, "--source", "en", "--target", "fr")) for files in (OWN, TSV)]
    for name, new in {"a.txt": "train.en", "b.txt": "train.fr"}.items():
        (place / name).rename(place / new)
    expected = load_corpus("files", folder=place, target="fr")
    assert own[0].splits == expected.splits
    pairs = [sorted(pair for split in one.splits.values() for pair in split) for one in (*own, expected)]
    assert pairs[0] == pairs[1] == pairs[2]
    assert own[0].languages == own[1].languages == ("en", "fr")
    assert {*own_files(parsed(*TSV, "--valid-tsv", "pairs.tsv"))} == {"train", "valid"}


@pytest.mark.usefixtures("unchecked")
def test_law_the_options_reach_the_recipe_and_the_model_stores_its_languages(place, monkeypatch, run):
    seen = []
    monkeypatch.setattr(module, "train_from_recipe", lambda *inputs, **more: seen.append((inputs, more)) or 7)
    settings = RECIPE | {"steps": 1, "save_minutes": 7, "seed": 5, "device": "cpu"}
    _, err = run("train", "--out", "out", *OWN, *options(settings))
    (made, corpus, out), more = seen[0]
    assert made == Recipe(shape=DEFAULT_SHAPE, training=training_config(parsed("--steps", 1)), **RECIPE)
    assert corpus.languages is None
    assert (out, more["save_seconds"], more["seed"]) == (Path("out"), 420, 5)
    warning, *_, last = err.splitlines()
    assert warning.startswith(
        "warning: without --source and --target, the model does not store its languages;"
    )
    lowest = "whose validation loss is the lowest, averaged with the epochs before"
    assert last == f"out has the model of step 7, {lowest}"


@pytest.mark.parametrize(
    ("rank", "here", "resume"),
    [
        (0, "3", rf"run\ncd .* && {TORCHRUN} -m -- "),
        (0, "2", "start torchrun again on each mach"),
        (2, "3", None),
    ],
)
@pytest.mark.usefixtures("place", "unchecked")
def test_law_rank_0_logs_how_to_resume_with_as_many_processes(rank, here, resume, monkeypatch, run):
    group = ProcessGroup()
    group.rank, group.world_size = rank, 3

    def train(*_: object, **options: object) -> None:
        Path("out", STATE_FILE).touch()
        raise KeyboardInterrupt

    monkeypatch.setenv("LOCAL_WORLD_SIZE", here)
    monkeypatch.setattr(module, "join_process_group", lambda: contextlib.nullcontext(group))
    monkeypatch.setattr(module, "read_progress", lambda folder: Progress(step=7))
    monkeypatch.setattr(module, "train_from_recipe", train)
    _, err = run("train", "--out", "out", "--steps", 1, "--device", "cpu", *OWN, status=130)
    _, saved, hint = err.partition("step 7 is saved in out; to resume, ")
    assert bool(saved) is (resume is not None)
    assert re.match(resume or "", hint)


@pytest.mark.parametrize(("rank", "device"), [(None, 0), ("2", 2), ("3", None)])
def test_law_each_process_uses_its_own_device(monkeypatch, rank, device):
    taken: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.setenv(name, rank) if rank else monkeypatch.delenv(name, raising=False)
    if device is None:
        with pytest.raises(ValueError, match="finds 3 CUDA devices for 4 processes of this machine; give"):
            take_device("cuda")
        return
    assert take_device(None) == take_device("cuda") == torch.device("cuda", device)
    assert taken == [device] * 2
