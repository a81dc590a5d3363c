"""The package's own source, shown in a chapter so that no chapter carries a copy of it."""

import inspect
import textwrap
from collections.abc import Callable

from annotated_transformer.book.page import Page

PACKAGE = __name__.partition(".")[0]
PAGE_COLUMNS = 92  # a longer line of code would be cut at the edge of the page


def show_source(thing: Callable[..., object] | type) -> Page:
    """Show the source of a function, method or class of this package as a block of Markdown.

    Raises:
        TypeError: `thing` is something else, or comes from another package.
        ValueError: a line of it is too long for the page.
    """
    module = getattr(thing, "__module__", "") or ""
    readable = inspect.isroutine(thing) or inspect.isclass(thing)
    if not readable or module.partition(".")[0] != PACKAGE:
        raise TypeError(
            f"show_source got {thing!r}; give it a function, a method or a class of {PACKAGE}, "
            "so that the chapter shows the code which the model runs"
        )
    name = thing.__qualname__
    heading = f"# {module}" if "." not in name else f"# {module}, {name}"  # a method: say whose
    source = textwrap.dedent(inspect.getsource(thing)).rstrip()
    for line in source.splitlines():
        if len(line) > PAGE_COLUMNS:
            raise ValueError(
                f"{name} has a line of {len(line)} characters, the page has room for {PAGE_COLUMNS}; "
                f"wrap it: {line.strip()}"
            )
    fence = "````" if "```" in source else "```"
    return Page(f"{fence}python\n{heading}\n{source}\n{fence}")
