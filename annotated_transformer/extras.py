"""Extras: what says, if an optional library is missing, which extra installs it."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import requires
from pathlib import Path


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
            f"{purpose} needs {missing}, which is not installed; run pip install {_what_to_install(name)}",
            name=missing,
        ) from error


def _what_to_install(name: str) -> str:
    """Return the arguments of pip: the extra in the folder of the book, or from a wheel, its libraries."""
    if (Path(__file__).parents[1] / "pyproject.toml").is_file():
        return f"'.[{name}]' in the folder of this book"
    needed = (each.split("; ") for each in requires("annotated-transformer") or [])
    return " ".join(f"'{library}'" for library, *when in needed if when == [f'extra == "{name}"'])
