"""Libraries that only some conversions need."""

from importlib import import_module
from types import ModuleType

INSTALL = "pip install 'annotated-transformer[interop]'"


def needed(library: str, purpose: str) -> ModuleType:
    """Import a library, or say how to install it.

    Raises:
        ModuleNotFoundError: If it is not installed.
    """
    try:
        import_module(library.partition(".")[0])  # so that the library is named, not a module of it
        return import_module(library)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{purpose} needs {error.name}, which is not installed; run {INSTALL}", name=error.name
        ) from error
