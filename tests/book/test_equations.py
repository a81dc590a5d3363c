"""Every labeled equation in the book has a test marked with its label, and vice versa."""

import re
from collections.abc import Iterable
from pathlib import Path

from builder.site.front.indexes import marks

ROOT = Path(__file__).resolve().parents[2]


def labels(text: str) -> list[str]:
    return re.findall(r"\$\$\s*\(([^)\s]+)\)\s*$", text, re.MULTILINE)


def disagreements(pages: Iterable[str], tests: Iterable[str]) -> list[str]:
    """Report labels that are duplicate, untested, or tested but missing from the pages."""
    here, there = [x for page in pages for x in labels(page)], {x for test in tests for x, _ in marks(test)}
    return [
        *(f"{label} labels two equations" for label in sorted({x for x in here if here.count(x) > 1})),
        *(f"{label} has no test; mark one with @pytest.mark.equation" for label in sorted(set(here) - there)),
        *(f"{label} has a test and no equation" for label in sorted(there - set(here))),
        *(f"{label} does not begin with eq-" for label in sorted(set(here)) if not label.startswith("eq-")),
    ]


def texts(folder: str, pattern: str) -> list[str]:
    return [path.read_text("utf-8") for path in sorted((ROOT / folder).rglob(pattern))]


def test_law_every_labeled_equation_has_a_test_and_every_such_test_an_equation():
    assert disagreements(texts("chapters", "*.md"), texts("tests", "test_*.py")) == []


def empty_rows(text: str) -> list[str]:
    """Return the rows of displayed formulas that have no content, each with what precedes it."""
    displays = re.findall(r"\$\$(.*?)\$\$", text, re.DOTALL)
    empty = re.compile(
        r"[^\n]{0,20}(?:\\\\(?:\[[^]]*\])?|\\begin\{[a-z]*(?:matrix|cases|aligned)\})[\s&]*(?=\\\\|\\end|\Z)"
    )
    return [row for display in displays for row in empty.findall(display)]


def test_law_no_displayed_formula_has_an_empty_row():
    assert [row for page in texts("chapters", "*.md") for row in empty_rows(page)] == []
