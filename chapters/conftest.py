"""Compare the values of claims, and those in the words of figures, which nbval does not.

They are in the metadata of outputs. Of a claim whose value moves, its bound has been compared by the claim
itself, and in the line that nbval compares.
"""

import math
import os
from collections.abc import Callable, Generator, Iterable
from itertools import zip_longest
from typing import Any

import pytest
from nbval.plugin import IPyNbCell

from annotated_transformer.book.cells.claim import NOISE, SAME, TOLERANCE
from annotated_transformer.book.output import STRICT

os.environ[STRICT] = "1"  # for the kernels: a claim or check that does not hold raises an error


def claims(outputs: Iterable[Any]) -> list[dict[str, Any]]:
    """Return what `claim` stored in the metadata of a cell's outputs."""
    metadata = [output.get("metadata", {}) for output in outputs]
    return [each["claim"] for each in metadata if "claim" in each]


def in_words(outputs: Iterable[Any]) -> list[tuple[str, Any]]:
    """Return the names and the values that the words of a cell's figure have places for."""
    figures = [output["metadata"]["figure"] for output in outputs if "figure" in output.get("metadata", {})]
    return [
        pair for figure in figures for frame in figure["frames"] for pair in sorted(frame["values"].items())
    ]


def agree(stored: dict[str, Any], found: dict[str, Any]) -> bool:
    """Return whether two claims have the same value, but for rounding errors, or one that moves in both."""
    values, others, bound = stored["value"], found["value"], stored["bound"].get("below", math.inf)
    if stored.get("moves") != found.get("moves"):
        return False
    if isinstance(values, str) or len(values) != len(others):  # words are claimed exactly
        return bool(values == others)
    noise = bound if 0 < bound <= TOLERANCE else NOISE
    pairs = zip(values, others, strict=True)
    return "moves" in stored or all(math.isclose(*pair, rel_tol=SAME, abs_tol=noise) for pair in pairs)


def alike(old: Any, new: Any, sanitize: Callable[[str], str]) -> bool:
    """Return whether two named values give the same words: floats nearly, others as nbval compares texts."""
    if old and new and old[0] == new[0] and isinstance(old[1], float) and isinstance(new[1], float):
        return math.isclose(old[1], new[1], rel_tol=SAME, abs_tol=NOISE)
    return sanitize(str(old)) == sanitize(str(new))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: IPyNbCell) -> Generator[None]:
    """Fail a cell that nbval passes if it does not claim the values of its stored outputs."""
    yield
    if not item.options["check"]:
        return
    stored, found = claims(item.cell.outputs), claims(item.test_outputs)
    if len(stored) != len(found):
        item.raise_cell_error(f"{len(stored)} values of claims are stored, not {len(found)}: make chapters")
    for old, new in zip(stored, found, strict=True):
        if not agree(old, new):
            values = f"{new['value']}, and not {old['value']} (within {SAME:.1%})"
            item.raise_cell_error(f"The claim {old['name']!r} now has the value {values}")
    for pair in zip_longest(in_words(item.cell.outputs), in_words(item.test_outputs)):
        if not alike(*pair, item.sanitize):
            item.raise_cell_error(f"The words of a figure now have the value {pair[1]}, and not {pair[0]}")
    item.user_properties += [("moves", "moves" in claim) for claim in stored]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many values were compared, and of how many only the bound."""
    passed = terminalreporter.stats.get("passed", [])
    moves = [value for report in passed for name, value in report.user_properties if name == "moves"]
    terminalreporter.write_line(
        f"claims: {moves.count(False)} values are the stored ones, within {SAME:.1%}"
        + (f"; {moves.count(True)} move with rounding, and keep their bounds" if any(moves) else "")
    )
