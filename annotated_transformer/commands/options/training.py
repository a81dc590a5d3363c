"""The settings of `train`, from three places: its options, a JSON file, and the model that it starts from."""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

from annotated_transformer.config import TINY, TransformerConfig
from annotated_transformer.training.config import TrainingConfig

CONFIGS = {"model": TransformerConfig, "training": TrainingConfig}
DEFAULT_SHAPE = dataclasses.replace(TINY, vocab_size=4000, dropout=0.1)
DEFAULT_TRAINING = {  # where it differs from the paper's
    "steps": None,  # the user gives a limit
    "batch_tokens": 2048,
    "warmup_steps": 1000,  # with 200, the encoder may collapse: see `benchmarks/collapse.py`
    "max_lr": 3e-3,
}


def start_folder(start: Path | None) -> Path | None:
    """Return the folder of the model to start from, which may be the name of one in this package."""
    from annotated_transformer.checkpointing.checkpoint import pretrained_folder, pretrained_names

    if start is None or start.exists() or str(start) not in pretrained_names():
        return start
    return pretrained_folder(str(start))


def model_config(options: argparse.Namespace, start: Path | None) -> TransformerConfig:
    """Return the shape of the model: that of the model in `start`, or our defaults, with the given fields."""
    from annotated_transformer.checkpointing import checkpoint

    fields = _fields(options, "model")
    if start is None:
        return dataclasses.replace(DEFAULT_SHAPE, **fields)
    loaded = checkpoint.load(start)[0].config
    if (asked := fields.get("vocab_size", loaded.vocab_size)) != loaded.vocab_size:
        raise ValueError(
            f"vocab_size={asked}, but the tokenizer of {start} has {loaded.vocab_size} entries; leave it out"
        )
    return dataclasses.replace(loaded, **{"dropout": DEFAULT_SHAPE.dropout} | fields)


def training_config(options: argparse.Namespace) -> TrainingConfig:
    """Return the settings of the training run."""
    try:
        return TrainingConfig(**(DEFAULT_TRAINING | _fields(options, "training")))
    except TypeError as error:  # such as steps="many", which only the file can give
        raise ValueError(str(error)) from error


def _fields(options: argparse.Namespace, section: str) -> dict[str, Any]:
    """Return the fields of a config that are set by the file or the options, which override it."""
    names = [field.name for field in dataclasses.fields(CONFIGS[section])]
    of_file = {} if options.config is None else _read(options.config).get(section, {})
    return of_file | {name: value for name in names if (value := getattr(options, name, None)) is not None}


def _read(file: Path) -> dict[str, dict[str, Any]]:
    """Return the sections of a file; the configs check the values."""
    try:
        sections = json.loads(file.read_text("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"--config {file} is not JSON ({error}); correct it") from error
    known = {section: [field.name for field in dataclasses.fields(CONFIGS[section])] for section in CONFIGS}
    for values, names in ((sections, known), *((sections.get(name, {}), known[name]) for name in CONFIGS)):
        if not isinstance(values, dict) or (unknown := [name for name in values if name not in names]):
            wrong = unknown if isinstance(values, dict) else values
            raise ValueError(f"--config {file} has {wrong}; give an object with any of {', '.join(names)}")
    return sections
