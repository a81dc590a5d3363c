"""What computes a model, without its weights: to notice that its code or a part has changed."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial, partialmethod
from itertools import chain, product
from operator import is_
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from torch import Tensor, nn

from annotated_transformer.model.plain import GLOBAL_HOOKS, hooks_of

WRAPPERS = property, staticmethod, classmethod, MethodType, partial, partialmethod
TORCHS = {*vars(nn.Module()), "_refusals"}  # the attributes that are no settings


class Computation:
    """The code and the settings of a model, by which a change is noticed; weights do not count.

    The code is that of its modules' classes, and the functions and other values that they name. Of lists and
    dictionaries, the entries count, and of these not the entries.
    """

    def __init__(self, model: nn.Module) -> None:
        """Note the state of now."""
        modules = [*model.modules()]
        self.kind, self.children = type(model), [module._modules for module in modules]
        self.hooks = [*GLOBAL_HOOKS, *chain(*map(hooks_of, modules))]
        kinds = {kind for module in modules for kind in type(module).__mro__}
        kinds = {kind for kind in kinds if not _is_torchs(kind)}
        self.tables: list[Any] = [vars(part) for part in (*kinds, *modules)]
        self.places: list[tuple[Any, str]] = []
        self.functions: set[FunctionType] = set()
        for table in self.tables:
            for name, value in table.items():
                if name not in TORCHS and not isinstance(value, Tensor):
                    self.places.append((table, name))
                    self._follow(value)
        values = [table[name] for table, name in self.places]
        self.lists = [value for value in values if type(value) in (list, dict)]
        self.noted = self._state()

    def changed(self, model: nn.Module) -> bool:
        """Return whether something is another object by now."""
        state = self._state()
        same = type(model) is self.kind and len(state) == len(self.noted)
        return not (same and all(map(is_, state, self.noted)))

    def _follow(self, code: object) -> None:
        """Note what a function of ours or of a user names, and what the functions among that name."""
        if isinstance(code, WRAPPERS):
            for name in ("fget", "__func__", "func"):
                self._follow(getattr(code, name, None))
        if not isinstance(code, FunctionType) or _is_torchs(code):
            return
        if code in self.functions:
            return
        self.functions.add(code)
        self._follow(getattr(code, "__wrapped__", None))
        names, spaces = set(_names(code.__code__)), [code.__globals__]
        values = [spaces[0].get(name) for name in names]
        spaces += [vars(value) for value in values if isinstance(value, ModuleType)]
        for space, name in product(spaces, names):
            if name in space:
                self.places.append((space, name))
                self._follow(space[name])
        for cell in code.__closure__ or ():
            with suppress(ValueError):  # it is empty
                self._follow(cell.cell_contents)

    def _state(self) -> list[object]:
        parts = [part for children in self.children for part in children.values()]
        state: list[object] = [*parts, *map(type, parts)]
        state += [table.get(name) for table, name in self.places]
        for function in self.functions:
            state += [function.__code__, function.__defaults__, function.__kwdefaults__]
        for each in self.lists:
            state += each.values() if isinstance(each, dict) else each
        return [*state, *map(len, self.tables)]


def _is_torchs(code: Any) -> bool:
    return code is object or (code.__module__ or "").partition(".")[0] == "torch"


def _names(code: CodeType) -> Iterator[str]:
    """Yield the global names and the attributes of a function and of those inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
