"""Which code a saved model needs: its folder names it, and never holds it."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.plain import unwrap
from annotated_transformer.model.trainable import AnyModel, TrainableModel, is_transformer
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.registry import code_name, registered_attentions

CODE = "code"  # a key of `config.json` beside the fields of the config
ADDED = {"tied_output": True}  # fields that are written only if they differ from this


def config_fields(config: Any) -> dict[str, Any]:
    """Return the fields of a config for files, without those of `ADDED` that have their defaults.

    So folders and training runs are the same as before these fields existed.
    """
    fields = dataclasses.asdict(config)
    return {name: value for name, value in fields.items() if name not in ADDED or value != ADDED[name]}


def to_fields(model: AnyModel) -> dict[str, Any]:
    """Return what `config.json` holds: the fields of the config and, if it needs other code, its names."""
    fields, code = config_fields(model.config), {}
    if not is_transformer(model):
        _refuse_config(unwrap(model), fields)
        code["model"] = code_name(type(unwrap(model)))
    if (make := registered_attentions().get(fields.get("attention", ""))) is not None:
        code["attention"] = code_name(make)
    return fields | ({CODE: code} if code else {})


def _refuse_config(model: nn.Module, fields: dict[str, Any]) -> None:
    name, kind, built = type(model).__name__, type(model.config), config_type(type(model))
    if kind is not built:
        raise TypeError(
            f"{name}.config is a {kind.__name__}, and loading would build a {built.__name__}; "
            f"set config_type = {kind.__name__} in the class {name}"
        )
    for field, value in fields.items():
        if not isinstance(value, bool | int | float | str | None):
            raise ValueError(
                f"{name}.config has {field}={value!r}, and a model folder holds numbers, strings, and None; "
                f"give {field} as one of these"
            )


def refuse_missing_code(
    folder: Path, code: Mapping[str, str], fields: Mapping[str, Any], kind: type[nn.Module] | None
) -> None:
    """Refuse to load a model without the code that its folder names."""
    attention, needed = fields.get("attention"), code.get("attention")
    if needed is not None and attention not in registered_attentions():
        raise ValueError(
            f"{folder} needs the attention {attention!r}, and a model folder holds no code; import the "
            f"module of {needed}, which registers that name, and load again"
        )
    saved = code.get("model", code_name(Transformer))
    name = saved.rpartition(".")[2]
    if kind is None and "model" in code:
        raise ValueError(
            f"{folder} holds a {name}, and no code; import {saved}, and load again by load(folder, {name})"
        )
    if kind is not None and kind.__name__ != name:
        way_out = f"load(folder, {name})" if "model" in code else "load(folder)"
        raise ValueError(f"{folder} holds a {name} ({saved}), not a {kind.__name__}; load it by {way_out}")


def fresh_model(kind: type[AnyModel], config: Any) -> AnyModel:
    """Return a new model without changing the state of PyTorch's random generator."""
    with torch.random.fork_rng(devices=[]):
        try:
            return kind(config)
        except TypeError as error:
            if not issubclass(kind, TrainableModel):
                raise
            raise TypeError(
                f"loading calls {kind.__name__}(config), which fails ({error}); let {kind.__name__}.__init__ "
                f"take the config alone, for example in a subclass"
            ) from error


def config_type(kind: type[nn.Module] | None) -> type:
    """Return the type of the config of a class of models."""
    return getattr(kind, "config_type", TransformerConfig)
