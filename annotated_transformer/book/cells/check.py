"""Checks of what a chapter says: they raise an error in the book, and are a line in a reader's copy."""

import ast
import re
from typing import Any

import torch
from IPython import get_ipython
from IPython.display import display

from annotated_transformer.book.cells.tally import count_result
from annotated_transformer.book.exercises.verdict import told_apart
from annotated_transformer.book.output import CellOutput, must_hold

_refuted: set[tuple[int, str]] = set()  # numbers of executed cells, and what they said does not hold


def check(condition: Any, what: str, *, example: Any = True) -> None:
    """Check that `condition`, a truth value or a function that returns one, holds; then display nothing.

    A function is for an entry that a reader may rename or remove: `lambda: errors["one head"] < 1`. What is
    checked of one `example` is not checked, and says so, if a reader has changed it (see `claim`).

    Raises:
        AssertionError: It does not hold, or the example is another one, and CLAIMS_MUST_HOLD is set.
        KeyError: The function finds no such entry, and CLAIMS_MUST_HOLD is set.
    """
    if other_example(example, what):
        return
    found, condition = entries(condition, what)
    count_result(what, found and bool(condition))
    if found and not condition:
        refute(f"{what}: not here")


def check_close(
    actual: Any, expected: Any, what: str, *, atol: float | None = None, rtol: float | None = None
) -> None:
    """Check that two tensors are equal but for rounding errors, as `torch.testing.assert_close` does.

    Raises:
        AssertionError: They are not, and CLAIMS_MUST_HOLD is set.
    """
    try:
        torch.testing.assert_close(actual, expected, atol=atol, rtol=rtol)
        count_result(what, True)
    except AssertionError as error:
        count_result(what, False)
        why = str(error)
        if place := re.search(r"absolute difference: .* at index (\(.*?\))", why):
            at = ast.literal_eval(place[1])
            here, wanted = told_apart(actual[at].item(), expected[at].item())
            why = f"{here}, not {wanted}, at {list(at)}"
        refute(f"{what}: not here ({why.partition(chr(10))[0]})")


def other_example(example: Any, what: str) -> bool:
    """Return whether a reader changed the book's example; if so, say that `what` was only about that one.

    Raises:
        AssertionError: The example is another one, and CLAIMS_MUST_HOLD is set.
    """
    if not example:
        count_result(what, None)
        refute(f"{what}: said of the book's example only", sign="–")
    return not example


def entries(value: Any, what: str) -> tuple[bool, Any]:
    """Return whether all entries that a function looks up are there, and what it returns.

    If one is missing in a reader's copy, say so. A `value` that is not a function is returned as it is.

    Raises:
        KeyError: An entry is missing, and CLAIMS_MUST_HOLD is set.
    """
    if not callable(value):
        return True, value
    try:
        return True, value()
    except KeyError as missing:
        if must_hold():
            raise
        refute(f"{what}: there is no entry {missing} here")
        return False, None


def refute(line: str, *, sign: str = "✗", **claim: Any) -> None:
    """Say that something does not hold, or raise it while the book is built and tested.

    In a reader's copy of a notebook, CLAIMS_MUST_HOLD is not set, and the notebook goes on. A check in a loop
    may say the same several times; the reader sees it once.

    Raises:
        AssertionError: CLAIMS_MUST_HOLD is set.
    """
    if must_hold():
        raise AssertionError(f"this does not hold: {line.replace('**', '')}")
    if shell := get_ipython():
        refuted = shell.execution_count, line
        if refuted in _refuted:
            return
        _refuted.add(refuted)
    end = " You changed something above, or found something." if sign == "✗" else ""
    display(CellOutput(f"{sign} {line}.{end}"), metadata=claim)  # type: ignore[no-untyped-call]
