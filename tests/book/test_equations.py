"""Every labeled equation in the book has a test marked with its label, and vice versa."""

import re
from pathlib import Path

from builder.site.front.indexes import marks

ROOT = Path(__file__).resolve().parents[2]
EMPTY_ROW = (
    r"[^\n]{0,9}(?:\\\\(?:\[[^]]*\])?|\\begin\{[a-z]*(?:matrix|cases|aligned)\})[\s&]*(?=\\\\|\\end|\Z)"
)


def texts(folder: str, pattern: str) -> list[str]:
    return [path.read_text("utf-8") for path in sorted((ROOT / folder).rglob(pattern))]


def test_law_every_labeled_equation_has_a_test_and_every_such_test_an_equation():
    pages, tests = texts("chapters", "*.md"), texts("tests", "test_*.py")
    labels = [x for page in pages for x in re.findall(r"\$\$\s*\(([^)\s]+)\)\s*$", page, re.MULTILINE)]
    assert sorted(labels) == sorted({label for test in tests for label, _ in marks(test)})
    assert all(label.startswith("eq-") for label in labels)


def test_law_no_displayed_formula_has_an_empty_row():
    pages = texts("chapters", "*.md")
    formulas = [formula for page in pages for formula in re.findall(r"(?s)\$\$(.*?)\$\$", page)]
    assert [row for formula in formulas for row in re.findall(EMPTY_ROW, formula)] == []
