"""Import `rounding` after PyTorch, in every Python that has this folder on its path."""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class AfterPyTorch:
    """Find PyTorch in place of the finders that follow."""

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name) if name == "torch" else None
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def execute_both(module: ModuleType) -> None:
                execute(module)
                import_module("rounding")

            spec.loader.exec_module = execute_both
        return spec


sys.meta_path.insert(0, AfterPyTorch())
