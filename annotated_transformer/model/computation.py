"""What computes a model, without its weights: to notice that its code or a part has changed."""

from collections.abc import Iterator
from itertools import chain, product
from operator import is_
from types import CodeType, FunctionType, ModuleType
from typing import Any

from torch import Tensor, nn

from annotated_transformer.model.plain import GLOBAL_HOOKS, hooks_of

TORCHS = vars(nn.Module()).keys()  # the attributes that all modules have


class Computation:
    """The code and the settings of a model, by which a change is noticed; weights do not count.

    The code is that of its modules' classes, and the functions and other values that they name. Of lists and
    dictionaries, the entries count, and of these not the entries.
    """

    def __init__(self, model: nn.Module) -> None:
        """Note them, and nothing that refers to the model: it is the key under which this is kept."""
        modules = [*model.modules()]
        self.kind, self.children = type(model), [module._modules for module in modules]
        self.hooks = [*GLOBAL_HOOKS, *chain(*map(hooks_of, modules))]
        kinds = {kind for module in modules for kind in type(module).__mro__}
        kinds = {kind for kind in kinds if not _is_torchs(kind)}
        self.tables: list[Any] = [vars(part) for part in (*kinds, *modules)]
        self.places = [
            (table, name)
            for table in self.tables
            for name, value in table.items()
            if name not in TORCHS and not isinstance(value, Tensor)
        ]
        self.functions: dict[FunctionType, CodeType] = {}
        for kind in kinds:
            for member in vars(kind).values():
                self._follow(member)
        values = [table[name] for table, name in self.places]
        self.lists = [value for value in values if type(value) in (list, dict)]
        self.then = self._now()

    def changed(self, model: nn.Module) -> bool:
        """Return whether one of them is another by now."""
        now = self._now()
        same = type(model) is self.kind and len(now) == len(self.then)
        return not (same and all(map(is_, now, self.then)))

    def _follow(self, code: object) -> None:
        """Note what a function of ours or of a user names, and what the functions among that name."""
        for name in (
            "fget",
            "__func__",
            "func",
            "__wrapped__",
        ):  # of a property, a partial
            if (inner := getattr(code, name, None)) is not None:
                self._follow(inner)
        if not isinstance(code, FunctionType) or _is_torchs(code):
            return
        if code in self.functions:
            return
        self.functions[code] = code.__code__
        names, spaces = set(_names(code.__code__)), [code.__globals__]
        values = [spaces[0].get(name) for name in names]
        spaces += [vars(value) for value in values if isinstance(value, ModuleType)]
        for space, name in product(spaces, names):
            if name in space and not isinstance(space[name], Tensor):
                self.places.append((space, name))
                self._follow(space[name])

    def _now(self) -> list[object]:
        parts = [part for children in self.children for part in children.values()]
        codes = [function.__code__ for function in self.functions]
        values = [table.get(name) for table, name in self.places]
        for each in self.lists:
            values += each.values() if isinstance(each, dict) else each
        return [*parts, *map(type, parts), *codes, *values, *map(len, self.tables)]


def _is_torchs(code: Any) -> bool:
    return code is object or (code.__module__ or "").partition(".")[0] == "torch"


def _names(code: CodeType) -> Iterator[str]:
    """Yield the global names and the attributes of a function and of those inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
