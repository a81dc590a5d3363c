"""The settings of `train`, from three places: its options, a JSON file, and the model that it starts from."""

import argparse
import dataclasses
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from annotated_transformer.argument_names import Message, argument, join
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.checkpoint import pretrained_folder, pretrained_names
from annotated_transformer.commands.output import check_input_file
from annotated_transformer.commands.train_options import DEFAULT_SHAPE, DEFAULT_TRAINING
from annotated_transformer.config import TransformerConfig
from annotated_transformer.training.config import TrainingConfig

CONFIGS = {"model": TransformerConfig, "training": TrainingConfig}
NAMES = {str: "a name", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null"}


def start_folder(start: Path | None) -> Path | None:
    """Return the folder of the model to start from, which may be the name of one in this package."""
    if start is None or start.exists() or str(start) not in pretrained_names():
        return start
    return pretrained_folder(str(start))


def model_config(options: argparse.Namespace, start: Path | None) -> TransformerConfig:
    """Return the shape of the model: that of the model in `start`, or our defaults with the given fields.

    Raises:
        ValueError: If the config file or a setting is invalid, or a setting differs from the model in
            `start`.
    """
    given = _given(options, "model")
    if start is None:
        return dataclasses.replace(DEFAULT_SHAPE, **given)
    loaded = checkpoint.load(start)[0].config
    differing = [
        Message("{}, not {!r}", argument(name, getattr(loaded, name)), value)
        for name, value in given.items()
        if name != "dropout" and getattr(loaded, name) != value
    ]
    if differing:
        message = "the model in {} has {}; leave these settings out, or train without --start"
        raise ValueError(Message(message, start, join(" and ", differing)))
    return dataclasses.replace(loaded, dropout=given.get("dropout", DEFAULT_SHAPE.dropout))


def training_config(options: argparse.Namespace) -> TrainingConfig:
    """Return the settings of the training run.

    Raises:
        ValueError: If the config file or a setting is invalid.
    """
    return TrainingConfig(**(DEFAULT_TRAINING | _given(options, "training")))


def _given(options: argparse.Namespace, section: str) -> dict[str, Any]:
    """Return the fields of a config that are set by the file or the options."""
    names = [field.name for field in dataclasses.fields(CONFIGS[section])]
    own = {name: getattr(options, name, None) for name in names}
    return _read(options.config).get(section, {}) | {
        name: value for name, value in own.items() if value is not None
    }


def _read(file: Path | None) -> dict[str, dict[str, Any]]:
    if file is None:
        return {}
    check_input_file("--config", file)
    try:
        sections = json.loads(file.read_text("utf-8-sig"), object_pairs_hook=partial(_unique, file))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"--config {file} is not JSON ({error}); correct it") from error
    _refuse_unknown(file, "", sections, CONFIGS)
    for section, values in sections.items():
        kinds = get_type_hints(CONFIGS[section])
        _refuse_unknown(file, f" in {section!r}", values, kinds)
        for name, value in values.items():
            if not _fits(value, kinds[name]):
                raise ValueError(
                    f"--config {file} has {json.dumps(value)} as {name!r} in {section!r}, which takes "
                    f"{_describe(kinds[name])}; correct it"
                )
            if type(value) is int and float in (kinds[name], *get_args(kinds[name])):
                values[name] = float(value)
    return sections


def _unique(file: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of a JSON file, and refuse duplicate keys."""
    names = [name for name, _ in pairs]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise ValueError(f"--config {file} has {', '.join(map(repr, twice))} twice; leave one out")
    return dict(pairs)


def _refuse_unknown(file: Path, place: str, value: object, known: Mapping[str, object]) -> None:
    if not isinstance(value, dict):
        raise ValueError(
            f"--config {file} has no object{place}; give one with any of {', '.join(map(repr, known))}"
        )
    if unknown := [name for name in value if name not in known]:
        raise ValueError(
            f"--config {file} has {', '.join(map(repr, unknown))}{place}, which is unknown; "
            f"choose from {', '.join(map(repr, known))}"
        )


def _fits(value: object, kind: Any) -> bool:
    """Return whether a value from JSON is of the type of a field."""
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_args(kind):  # a union
        return any(_fits(value, one) for one in get_args(kind))
    if kind is float and type(value) is int:
        return abs(value) <= 2**53  # larger ones may not be exact
    return type(value) is kind


def _describe(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(f'"{choice}"' for choice in get_args(kind))
    return " or ".join(map(_describe, get_args(kind))) or NAMES[kind]
