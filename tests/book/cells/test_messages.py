"""Wrong lines give the messages that a handbook quotes, or it is said what they give instead."""

import pytest
import torch

from annotated_transformer.book.cells.messages import run_messages
from annotated_transformer.book.output import STRICT

NAMES = {"torch": torch, "rows": torch.ones(2, 3)}
SIZES = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (…x3 and …x3)"


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    """Build the book: what does not hold raises an error."""
    monkeypatch.setenv(STRICT, "1")


def test_law_errors_and_warnings_begin_as_quoted_and_leave_no_names():
    table = {
        "rows @ rows": SIZES,
        "wide = rows.mT\nwide @ wide": "RuntimeError: mat1 and mat2",
        "wide": "NameError: name 'wide' is not defined",
        "import warnings; warnings.warn('two\\n  lines')": "UserWarning: two lines",
    }
    run_messages(table, NAMES)
    assert set(NAMES) == {"torch", "rows"}


@pytest.mark.message
@pytest.mark.parametrize(
    ("line", "begins", "said"),
    [
        ("rows @ rows.mT", SIZES, r"`rows @ rows.mT` says nothing here; the book says RuntimeError: mat1"),
        ("rows @ rows", "RuntimeError: size", r"says RuntimeError: mat1 and .* book says RuntimeError: size"),
        ("rows @ rows", SIZES.replace("3)", "4)"), r"\(2x3 and 2x3\) here; the book says .* \(…x3 and …x4\)"),
    ],
)
def test_message_names_the_line_and_both_messages(line, begins, said):
    with pytest.raises(AssertionError, match=said):
        run_messages({line: begins}, NAMES)
