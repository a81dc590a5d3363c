"""Whether a model is plain: only then may code skip a module's `forward`, or save only the weights.

A replaced module or method with the attribute `same_in_evaluation` counts as plain, and a module that
`torch.compile` wrapped counts as the one inside.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from threading import get_ident
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

WRAPPED = "_orig_mod"  # the name that `torch.compile` gives to the module inside
T = TypeVar("T", bound=nn.Module)
HOOKS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
)
hooks_of = attrgetter(*HOOKS)
GLOBAL_HOOKS = [  # those that all modules have
    hooks
    for name, hooks in vars(nn.modules.module).items()
    if name.startswith("_global_") and "hooks" in name
]


class OwnHook:
    """A hook that runs in the thread that made it, and that the others do not have."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        self.hook, self.thread = hook, get_ident()

    def __call__(self, *inputs: Any) -> Any:
        """Run the hook if this is its thread."""
        return self.hook(*inputs) if self.thread == get_ident() else None


def any_hook(*tables: Mapping[int, object]) -> bool:
    """Return whether PyTorch's tables have a hook that runs in this thread."""
    # another thread may add one meanwhile
    hooks = [hook for table in tables for hook in list(table.values())]
    here = get_ident()
    return any(not isinstance(hook, OwnHook) or hook.thread == here for hook in hooks)


class NotPlain(ValueError):
    """A model has a part that is not plain, which code would skip."""


def refuse_hooks(model: nn.Module, because: str) -> None:
    """Raise NotPlain if the model has hooks, which may change its results; `because` ends the message."""
    if any_hook(*GLOBAL_HOOKS):
        raise NotPlain(f"all modules have hooks, {because}")
    for name, module in model.named_modules():
        if any_hook(*hooks_of(module), module._state_dict_hooks):
            raise NotPlain(f"{plain_name(name) or 'the model'} has hooks, {because}")


def unwrap(module: T) -> T:
    """Return the module that `torch.compile` wrapped, or `module` itself."""
    inner: T = getattr(module, "_modules", {}).get(WRAPPED, module)
    return inner


def shallow_copy(module: T) -> T:
    """Return a module with the same parts, of which some may then be exchanged."""
    copied = module.__class__.__new__(module.__class__)
    attributes = dict(vars(module))
    attributes.pop("_compiled_call_impl", None)  # which calls the original
    for table in ("_parameters", "_buffers", "_modules"):
        attributes[table] = attributes[
            table
        ].copy()  # or the module itself would change
    copied.__dict__.update(attributes)
    return copied


def plain_name(name: str) -> str:
    """Return the name that a module or parameter has in a model without compiled modules."""
    return ".".join(part for part in name.split(".") if part != WRAPPED)


def overridden(module: nn.Module) -> list[str]:
    """Return the names of the methods that are overridden on the module itself, not by its class."""
    return sorted(
        name
        for name, value in vars(module).items()
        if callable(value)  # few are, and a look-up in the class is slow
        and callable(getattr(type(module), name, None))
        and not getattr(value, "same_in_evaluation", False)
    )


def differences(model: nn.Module, plain: nn.Module) -> Iterator[tuple[str, str]]:
    """Yield the name of each module that differs in more than its weights, and how.

    Hooks and the probability of dropout are not compared.
    """
    modules, plain_modules = (
        {
            plain_name(name): module
            for name, module in root.named_modules(remove_duplicate=False)
        }
        for root in (model, plain)
    )
    for name in dict.fromkeys(chain(plain_modules, modules)):
        if difference := _difference(modules.get(name), plain_modules.get(name)):
            yield name, difference


def shared_weights(model: nn.Module) -> Iterator[tuple[str, str]]:
    """Yield the names of each module or parameter that has the weights of an earlier one, and of that one."""
    first: dict[int, str] = {}
    modules = (
        (name, id(module))
        for name, module in model.named_modules(remove_duplicate=False)
        if any(True for _ in module.parameters())
    )
    parameters = (
        (name, parameter.data_ptr())
        for name, parameter in model.named_parameters(remove_duplicate=False)
    )
    for name, place in chain(modules, parameters):
        if (earlier := first.setdefault(place, name)) != name:
            yield plain_name(name), plain_name(earlier)


def _difference(module: nn.Module | None, plain: nn.Module | None) -> str:
    if module is None:
        return "is missing"
    if getattr(module, "same_in_evaluation", False):
        return ""
    if type(module) is not type(plain):
        return f"is {_kind(module)}" + (f" and not {_kind(plain)}" if plain else "")
    for method in overridden(module):
        return f"overrides {method}"
    actual, needed = _settings(module), _settings(plain)
    for name in dict.fromkeys(chain(needed, actual)):
        if not _equal(actual.get(name), needed.get(name)):
            one, other = _show(actual.get(name)), _show(needed.get(name))
            if one == other:
                return f"has another {name}"
            return f"has {name}={one} and not {other}"
    return ""


def _kind(module: nn.Module) -> str:
    return f"{type(module).__module__}.{type(module).__qualname__}"


def _settings(module: nn.Module) -> dict[str, object]:
    """Return the shapes of the module's parameters, its tables, and its plain attributes."""
    parameters = module.named_parameters(recurse=False)
    return {
        **{name: tuple(parameter.shape) for name, parameter in parameters},
        **dict(module.named_buffers(recurse=False)),
        **{
            name: value
            for name, value in vars(module).items()
            if isinstance(value, bool | int | float | str)
            and name not in ("training", "p")  # no effect in evaluation mode
            and not name.startswith("_")  # PyTorch's own notes
        },
    }


def _equal(one: object, other: object) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.shape == other.shape and torch.allclose(
            one.float().cpu(), other.float().cpu(), atol=1e-2
        )  # tables may have been rounded to bfloat16
    return type(one) is type(other) and one == other


def _show(value: object) -> str:
    if isinstance(value, Tensor):
        return f"of shape {tuple(value.shape)}"
    return repr(value)
