"""Libraries that only some conversions need, the extra `interop`; and the error of a part that they lack."""

from importlib import import_module
from types import ModuleType

from annotated_transformer.extras import extra


def needed(library: str, purpose: str) -> ModuleType:
    """Import a library, or say how to install it."""
    with extra("interop", purpose):
        import_module(library.partition(".")[0])  # so that the library is named, not a module of it
        return import_module(library)


def not_carried_over(part: str, reason: str = "") -> ValueError:
    """Return the error that one side has a part, named by a clause, which the other cannot have."""
    return ValueError(f"{part}, which cannot be carried over{reason}")
