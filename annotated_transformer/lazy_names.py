"""Packages that offer the names of their modules, and import a module only when one of its names is used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_of(exports: Mapping[str, str]) -> dict[str, str]:
    """Return the module of each name; `exports` has the names of each module, separated by spaces."""
    return {name: module for module, names in exports.items() for name in names.split()}


def lazy(package: str, exports: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a package.

    `exports` has the names of each module, which is named within `annotated_transformer`.
    """
    modules = names_of(exports)
    root = package.partition(".")[0]

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}; it has {', '.join(sorted(modules))}"
            )
        return getattr(import_module(f"{root}.{modules[name]}"), name)

    return get, lambda: sorted(modules)
