"""What computes a model: to notice that its code, a part, or a weight has changed."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import partial, partialmethod
from itertools import chain, product
from operator import is_
from types import CodeType, FunctionType, MethodType
from typing import Any

from torch import Tensor, nn

from annotated_transformer.model.plain import GLOBAL_HOOKS, hooks_of

WRAPPERS = property, staticmethod, classmethod, MethodType, partial, partialmethod
TORCHS = {*vars(nn.Module()), "_refusals"}  # the attributes that are no settings


class Computation:
    """The code, settings, and weights of a model, by which a change is noticed.

    The code is that of its modules' classes, and the functions and other values that they name. Of lists and
    dictionaries, the entries count, and of these not the entries; of other objects, the attributes that a
    function names. Tensors are not compared: each counts how often it was changed in place.
    """

    def __init__(self, model: nn.Module, without: Collection[str] = ()) -> None:
        """Note the state of now, `without` the attributes of these names, which computing changes."""
        modules = [*model.modules()]
        self.kind, self.children = type(model), [module._modules for module in modules]
        self.weights = [
            table for each in modules for table in (each._parameters, each._buffers)
        ]
        self.hooks = [*GLOBAL_HOOKS, *chain(*map(hooks_of, modules))]
        kinds = {kind for module in modules for kind in type(module).__mro__}
        kinds = {kind for kind in kinds if not _is_torchs(kind)}
        self.tables: list[Any] = [vars(part) for part in (*kinds, *modules)]
        self.places: list[tuple[Any, str]] = []
        self.functions: set[FunctionType] = set()
        for table in self.tables:
            for name, value in table.items():
                if name not in TORCHS and name not in without:
                    self.places.append((table, name))
                    self._follow(value)
        self.values: list[Any] = self._values()
        self.lists = [value for value in self.values if type(value) in (list, dict)]
        self.tensors = [
            each
            for each in (*self._weights(), *self.values)
            if isinstance(each, Tensor)
        ]
        self.noted, self.versions = self._state(), [*map(_version, self.tensors)]

    def changed(self, model: nn.Module) -> bool:
        """Return whether something is another object by now, or a tensor has other numbers."""
        state = self._state()
        same = type(model) is self.kind and len(state) == len(self.noted)
        same = same and all(map(is_, state, self.noted))
        return not (same and [*map(_version, self.tensors)] == self.versions)

    def written(self) -> set[str]:
        """Return the names of attributes that are other objects by now."""
        now = zip(self.places, self.values, self._values(), strict=True)
        return {name for (_, name), before, value in now if value is not before}

    def _follow(self, code: Any) -> None:
        """Note what a function of ours or of a user names, and what the functions among that name."""
        if isinstance(code, WRAPPERS):
            for name in ("fget", "__func__", "func"):
                self._follow(getattr(code, name, None))
        if type(code) in (list, dict):
            for entry in code.values() if isinstance(code, dict) else code:
                if isinstance(entry, FunctionType):
                    self._follow(entry)
        if not isinstance(code, FunctionType) or _is_torchs(code):
            return
        if code in self.functions:
            return
        self.functions.add(code)
        self._follow(getattr(code, "__wrapped__", None))
        names, spaces = set(_names(code.__code__)), [code.__globals__]
        contents = [*(code.__defaults__ or ()), *(code.__kwdefaults__ or {}).values()]
        for cell in code.__closure__ or ():
            with suppress(ValueError):  # it is empty
                contents.append(cell.cell_contents)
        named = [*map(spaces[0].get, names), *contents]
        spaces += [
            vars(value)
            for value in named
            if hasattr(value, "__dict__") and not _is_torchs(value)
        ]
        for space, name in product(spaces, names):
            if name in space:
                self.places.append((space, name))
                self._follow(space[name])
        for content in contents:
            self._follow(content)

    def _state(self) -> list[object]:
        parts = [part for children in self.children for part in children.values()]
        state: list[object] = [
            *parts,
            *map(type, parts),
            *self._values(),
            *self._weights(),
        ]
        for function in self.functions:
            state += [function.__code__, function.__defaults__, function.__kwdefaults__]
        for each in self.lists:
            state += each.values() if isinstance(each, dict) else each
        return [*state, *map(len, self.tables)]

    def _values(self) -> list[Any]:
        return [table.get(name) for table, name in self.places]

    def _weights(self) -> list[Tensor | None]:
        return [tensor for table in self.weights for tensor in table.values()]


def _version(tensor: Tensor) -> int:
    """Return how often a tensor was changed in place, which inference does not count."""
    return 0 if tensor.is_inference() else tensor._version


def _is_torchs(code: Any) -> bool:
    return (
        code is object
        or (getattr(code, "__module__", "") or "").partition(".")[0] == "torch"
    )


def _names(code: CodeType) -> Iterator[str]:
    """Yield the global names and the attributes of a function and of those inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
