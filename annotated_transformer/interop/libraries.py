"""Libraries that only some conversions need: the extra `interop`."""

from importlib import import_module
from types import ModuleType

from annotated_transformer.extras import extra


def needed(library: str, purpose: str) -> ModuleType:
    """Import a library, or say how to install it."""
    with extra("interop", purpose):
        import_module(library.partition(".")[0])  # so that the library is named, not a module of it
        return import_module(library)
