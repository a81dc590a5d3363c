"""Import `rounding` after PyTorch, in every Python that has this folder on its path."""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


class AfterPyTorch:
    """Find PyTorch in place of the finders that follow, once."""

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        found = find_spec(name)
        if found and found.loader:
            execute = found.loader.exec_module

            def execute_both(module: ModuleType) -> None:
                execute(module)
                import_module("rounding")

            found.loader.exec_module = execute_both
        return found


sys.meta_path.insert(0, AfterPyTorch())
