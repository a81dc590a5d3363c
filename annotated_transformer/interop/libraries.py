"""The libraries that this package converts models for: imported on first use, and named if missing."""

import importlib
from types import ModuleType


def library(name: str) -> ModuleType:
    """Import a library, or a module of one, that only the extra `interop` installs.

    Raises:
        ModuleNotFoundError: If it is not installed; the message has the command.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"this needs {error.name or name}, which is not installed: pip install "
            f"'annotated-transformer[interop]'",
            name=error.name,
        ) from error
