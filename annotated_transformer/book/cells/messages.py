"""Wrong lines that a handbook shows, run for the messages that it quotes."""

import re
import warnings
from collections.abc import Mapping
from typing import Any

from annotated_transformer.book.cells.check import refute
from annotated_transformer.book.cells.tally import count_result

ANYTHING = "…"  # in a quoted message: what differs from case to case


def run_messages(table: Mapping[str, str], names: Mapping[str, Any]) -> None:
    r"""Check that each wrong line of a table gives the message whose beginning stands beside it.

    A line is code that knows `names`, usually `globals()`, and leaves its own names to no other line. Its
    message is the first line of a traceback's end, `TypeError: …`, or, where nothing is raised, the first
    warning, `UserWarning: …`; line breaks and spaces are one space.
    In the table, "…" stands for anything:
    `{"torch.ones(2) @ torch.ones(3)": "RuntimeError: inconsistent tensor size, …"}`.

    Raises:
        AssertionError: A message begins otherwise, or there is none, and CLAIMS_MUST_HOLD is set.
    """
    for line, begins in table.items():
        said = _message(line, names)
        pieces = " ".join(begins.split()).split(ANYTHING)
        fits = re.match(".*?".join(map(re.escape, pieces)), said) is not None
        count_result(f"the message of `{line}`", fits)
        if not fits:
            refute(f"`{line}` says **{said or 'nothing'}** here; the book says {begins}")


def _message(line: str, names: Mapping[str, Any]) -> str:
    """Return the error that code raises, or else the first warning that it gives, or else nothing."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            exec(line, dict(names))
        except Exception as error:
            return f"{type(error).__name__}: {' '.join(str(error).split())}"
    if not caught:
        return ""
    return f"{caught[0].category.__name__}: {' '.join(str(caught[0].message).split())}"
