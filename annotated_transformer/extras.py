"""Extras: what says, if an optional library is missing, which extra installs it."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def extra(name: str, purpose: str, *libraries: str) -> Iterator[None]:
    """Import in a `with` block what an extra of the package installs, or say how to install it.

    Errors about other libraries than `libraries` pass unchanged; if none are given, all belong to the extra.
    Of several nested blocks, the message is that of the outermost.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if libraries and package not in libraries:
            raise
        missing = package if libraries else error.name  # of google.protobuf, the package would say nothing
        raise ModuleNotFoundError(
            f"{purpose} needs {missing}, which is not installed; run pip install '.[{name}]' in the "
            f"folder of this book",
            name=missing,
        ) from error
