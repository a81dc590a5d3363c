"""Refusal of models that a folder cannot hold: it stores weights and a config, but no code."""

from itertools import chain

import torch
from torch import Tensor, nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer


def new_model(config: TransformerConfig) -> Transformer:
    """Return a new model, without drawing random numbers that the caller could notice."""
    with torch.random.fork_rng(devices=[]):
        return Transformer(config)


def refuse_custom_model(model: nn.Module) -> None:
    """Refuse a model that differs from `Transformer(model.config)` in more than its weights.

    Hooks and the probability of dropout are not checked. Accelerated modules and methods have the
    attribute `same_in_evaluation` and are accepted.

    Raises:
        TypeError: If the model is not a `Transformer`, such as one that `torch.compile` wrapped.
        ValueError: If a module is of a different class, has a different setting, such as the number of
            heads, or has a method that was replaced on the instance.
    """
    if not isinstance(model, Transformer):
        raise TypeError(f"the model is of type {type(model).__name__}; give the Transformer inside it")
    both = new_model(model.config), model
    plain, ours = (dict(each.named_modules(remove_duplicate=False)) for each in both)
    for name in dict.fromkeys(chain(plain, ours)):
        if difference := _difference(ours.get(name), plain.get(name)):
            raise ValueError(
                f"{'model' + '.' * bool(name) + name} {difference}, which loading could not restore: a model "
                f"folder holds the config and the weights; change the config, or save model.state_dict() "
                f"and keep your code"
            )


def _difference(ours: nn.Module | None, plain: nn.Module | None) -> str:
    if ours is None:
        return "is missing"
    if getattr(ours, "same_in_evaluation", False):
        return ""
    if type(ours) is not type(plain):
        instead = "" if plain is None else f" and not {_kind(plain)}"
        return f"is {_kind(ours)}{instead}"
    for name, value in vars(ours).items():
        if callable(getattr(type(ours), name, None)) and not getattr(value, "same_in_evaluation", False):
            return f"has its own {name}"
    found, needed = _settings(ours), _settings(plain)
    for name in dict.fromkeys(chain(needed, found)):
        if not _equal(found.get(name), needed.get(name)):
            shown, instead = (_show(settings.get(name)) for settings in (found, needed))
            return f"has {name}={shown} and not {instead}" if shown != instead else f"has another {name}"
    return ""


def _kind(module: nn.Module) -> str:
    return f"{type(module).__module__}.{type(module).__qualname__}"


def _settings(module: nn.Module) -> dict[str, object]:
    """Return the shapes of the module's parameters, its tables, and its plain attributes."""
    parameters = {name: tuple(x.shape) for name, x in module.named_parameters(recurse=False)}
    tables = dict(module.named_buffers(recurse=False))
    attributes = {name: x for name, x in vars(module).items() if isinstance(x, bool | int | float | str)}
    without_effect = ("training", "p")  # in evaluation
    return parameters | tables | {name: x for name, x in attributes.items() if name not in without_effect}


def _equal(one: object, other: object) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        same_shape = one.shape == other.shape  # tables may have been rounded to bfloat16
        return same_shape and torch.allclose(one.float().cpu(), other.float().cpu(), atol=1e-2)
    return type(one) is type(other) and one == other


def _show(value: object) -> str:
    return f"of shape {tuple(value.shape)}" if isinstance(value, Tensor) else repr(value)
