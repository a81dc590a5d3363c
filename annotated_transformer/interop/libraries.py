<<<<<<< HEAD
"""Libraries that only some conversions need: imported on first use, and named if missing."""
=======
"""Libraries that only some conversions need."""
>>>>>>> engine

from importlib import import_module
from types import ModuleType

INSTALL = "pip install 'annotated-transformer[interop]'"


<<<<<<< HEAD
def needed(library: str, purpose: str = "this") -> ModuleType:
    """Import a library or a module of one, or say how to install it.
=======
def needed(library: str, purpose: str) -> ModuleType:
    """Import a library, or say how to install it.
>>>>>>> engine

    Raises:
        ModuleNotFoundError: If it is not installed.
    """
    try:
        return import_module(library)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{purpose} needs {error.name}, which is not installed; run {INSTALL}", name=error.name
        ) from error
