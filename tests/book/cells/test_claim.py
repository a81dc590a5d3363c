"""Claims and checks are displayed or rejected, and each of a chapter's is accounted for."""

import json
import math
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import torch

from annotated_transformer.book.cells.check import check, check_close
from annotated_transformer.book.cells.claim import claim
from annotated_transformer.book.cells.tally import tally
from annotated_transformer.book.output import STRICT
from builder.chapters import written
from builder.claim_values import named_claims
from builder.lint import claims
from builder.source import parse, read

ROOT = Path(__file__).resolve().parents[3]
SOURCES = written(ROOT)


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    """Build the book: what does not hold raises an error."""
    monkeypatch.setenv(STRICT, "1")


@pytest.fixture
def lines(monkeypatch):
    """Return a list that collects the Markdown that claims and checks display, and has its metadata."""

    class Displayed(list):
        def display(self, page, *, metadata):
            self.append(page._repr_markdown_())
            self.claim = metadata.get("claim")

    lines = Displayed()
    for name in ("check", "claim"):
        monkeypatch.setattr(sys.modules[f"annotated_transformer.book.cells.{name}"], "display", lines.display)
    return lines


@pytest.fixture
def copy(lines, monkeypatch):
    """Return `lines` in a reader's copy, where what does not hold is displayed."""
    monkeypatch.delenv(STRICT)
    return lines


@pytest.fixture
def shell(monkeypatch):
    """Return the state of a kernel that has just started."""
    state = SimpleNamespace(execution_count=1, user_ns={"In": ["one"]})
    for function, remembered in ((check, "_refuted"), (tally, "_results")):
        module = sys.modules[function.__module__]
        monkeypatch.setattr(module, "get_ipython", lambda: state)
        monkeypatch.setattr(module, remembered, type(getattr(module, remembered))())
    return state


@pytest.mark.parametrize(
    ("value", "bound", "line"),
    [
        (1.0812, {"below": 1.5}, ": **1.1** (the book says below 1.5)"),
        ([0.4, 0.55], {"between": (0.4, 0.55)}, ": **0.4 to 0.55, 2 values** (the book says between 0.4 and"),
        ([0.5, 0.5], {"below": 1.0}, ": **0.5, 2 values** (the book says below 1)"),
        (-4e-5, {"below": 1e-4}, ": **less than 0.0001** (the book says rounding error only)"),
        (1.4996, {"below": 1.5}, ": **1.4996** (the book says below 1.5)"),
        (0.50003, {"above": 0.5}, ": **0.50003** (the book says above 0.5)"),
        (65_536, {"above": 10.0}, ": **65,536** (the book says above 10)"),
        (torch.tensor([1, 2]), {"equals": [1, 2]}, ": **[1, 2]** (exactly)"),
        (torch.tensor(True), {}, ""),
        ([True, True], {"equals": [True] * 2}, ""),
        (lambda: 0.5, {"between": (0.4, 0.6)}, ": **0.5** (the book says between 0.4 and 0.6)"),
        (lambda: True, {}, ""),
    ],
)
def test_law_a_claim_that_holds_is_one_line_with_value_and_bound(lines, value, bound, line):
    claim("keys read", value, **bound)
    assert len(lines) == 1
    assert lines[0].startswith(f"✓ keys read{line}")
    assert line or lines[0] == "✓ keys read"


def test_law_a_claim_says_what_others_compare_on_other_processors(lines):
    claim("keys", torch.tensor([1.0625, -3.0]), below=1.5)
    assert lines.claim == {"name": "keys", "value": [1.0625, -3.0], "bound": {"below": 1.5}}
    claim("gap", -2e-7, below=1e-6, moves=True)
    assert lines.claim == {"name": "gap", "value": [2e-7], "bound": {"below": 1e-6}, "moves": True}
    claim("ids", (4, 2), equals=(4, 2))
    assert lines.claim == {"name": "ids", "value": "(4, 2)", "bound": {"equals": "(4, 2)"}}


def test_law_a_cell_of_a_readers_copy_says_once_what_does_not_hold(copy, shell):
    for seed in range(3):
        check(seed > 2, "the rows are equal")
    check(False, "the columns are equal")
    claim("seed 0", 1, equals=2)
    claim("seed 0", 3, equals=2)  # another value
    assert len(copy) == 4
    assert str(tally()).endswith("✗ 3: the rows are equal; the columns are equal; seed 0.")
    shell.execution_count = 2  # the cell is run again
    check(False, "the rows are equal")
    check_close(1.0, 1.0, "one is one")
    assert copy[4] == copy[0]
    assert str(tally()) == "✓ 1 of 2 claims and checks hold in this kernel. ✗ 1: the rows are equal."


def test_law_a_claim_of_the_books_example_is_neither_true_nor_false_of_another(lines, monkeypatch, shell):
    claim("weight on “woman”", 0.8, above=0.7, example="woman" in ["the", "woman"])
    with pytest.raises(AssertionError, match=r"^this does not hold: x: said of the book's example only$"):
        claim("x", 1, equals=1, example=False)
    monkeypatch.delenv(STRICT)
    claim("weight on “woman”", float("nan"), above=0.7, example="woman" in ["the", "man"])
    check(False, "all words", example=False)
    check(True, "the rows are equal")
    assert lines[1:] == [
        "– weight on “woman”: said of the book's example only.",
        "– all words: said of the book's example only.",
    ]
    assert str(tally()) == (
        "✓ 1 of 4 claims and checks hold in this kernel. – 3 said of the book's example only: "
        "weight on “woman”; x; all words."
    )


@pytest.mark.parametrize(
    ("value", "bound", "line"),
    [
        (1.5, {"below": 1.5}, "**1.5** here; the book says below 1.5"),
        (1.5, {"above": 1.5}, "**1.5** here; the book says above 1.5"),
        (1.9996, {"above": 2.0}, "**1.9996** here; the book says above 2"),
        ([1.0, 1.6], {"below": 1.5}, "**1 to 1.6, 2 values** here; the book says below 1.5"),
        ([0.8, 0.6], {"above": 0.7}, "**0.6 to 0.8, 2 values** here; the book says above 0.7"),
        (
            [0.5, 0.6],
            {"between": (0.4, 0.55)},
            "**0.5 to 0.6, 2 values** here; the book says between 0.4 and",
        ),
        (
            [0.3, 0.5],
            {"between": (0.4, 0.55)},
            "**0.3 to 0.5, 2 values** here; the book says between 0.4 and",
        ),
        (math.nan, {"below": 1e-6}, "**nan** here; the book says below 1e-6"),
        (2e-6, {"below": 1e-6}, "**2e-6** here; the book says below 1e-6"),
        (-2e-6, {"below": 1e-6}, "**2e-6** here; the book says below 1e-6"),  # rounding errors go both ways
        (math.nan, {"above": 1.5}, "**nan** here; the book says above 1.5"),
        (math.nan, {"between": (0.0, 1.0)}, "**nan** here; the book says between 0 and 1"),
        (3, {"equals": 4}, "**3** here; the book says exactly 4"),
        (math.nan, {"equals": math.nan}, "**nan** here; the book says exactly nan"),
        (False, {}, "not here"),
    ],
)
def test_law_a_false_claim_raises_and_is_one_line_in_a_readers_copy(lines, monkeypatch, value, bound, line):
    with pytest.raises(AssertionError, match=r"^this does not hold: x: "):
        claim("x", value, **bound)
    assert lines == []
    monkeypatch.delenv(STRICT)
    claim("x", value, **bound)
    assert len(lines) == 1
    assert lines[0].startswith(f"✗ x: {line}")
    assert lines[0].endswith(". You changed something above, or found something.")
    assert lines.claim["name"] == "x"
    json.dumps(lines.claim, allow_nan=False)  # as Jupyter sends it


def test_law_a_readers_copy_says_that_a_claim_has_no_values(copy):
    claim("x", [], below=2.0)
    end = ". You changed something above, or found something."
    assert copy == [f"✗ x: **no values** here; the book says below 2{end}"]


def test_law_a_check_says_nothing_where_it_holds_and_one_line_in_a_readers_copy_where_not(copy):
    check(torch.tensor(1.0) > 0, "positive")
    check_close(torch.ones(2), torch.ones(2) + 1e-9, "equal")
    check_close(torch.ones(2), torch.ones(2) + 0.1, "equal", atol=0.2, rtol=0.0)
    assert copy == []
    check(torch.tensor(-1.0) > 0, "positive")
    check_close(torch.ones(2), torch.zeros(2), "equal")
    assert copy == [
        "✗ positive: not here. You changed something above, or found something.",
        "✗ equal: not here (1, not 0, at [0]). You changed something above, or found something.",
    ]


def test_law_a_missing_entry_is_an_error_and_one_line_in_a_readers_copy(lines, monkeypatch):
    errors = {"a single head": 0.5}
    with pytest.raises(KeyError, match=r"^'one head'$"):
        claim("error", lambda: errors["one head"], below=0.6)
    monkeypatch.delenv(STRICT)
    claim("error", lambda: errors["one head"], below=0.6)
    check(lambda: errors["one head"] < 1, "below 1")
    end = ": there is no entry 'one head' here. You changed something above, or found something."
    assert lines == [f"✗ error{end}", f"✗ below 1{end}"]


@pytest.mark.message
def test_message_a_check_that_does_not_hold():
    with pytest.raises(AssertionError, match=r"^this does not hold: both are equal: not here$"):
        check(torch.tensor(False), "both are equal")
    with pytest.raises(AssertionError, match=r"^this does not hold: sums: not here \(1, not 0, at \[0\]"):
        check_close(torch.ones(2), torch.zeros(2), "sums")


@pytest.mark.message
@pytest.mark.parametrize(
    ("value", "bounds", "sentence"),
    [
        (1, {"below": 2.0, "above": 0.0}, "has 2 bounds (below, above), and its value is 1; give one of"),
        (1, {}, "has 0 bounds (none), and its value is 1; give one of below, above, between, equals, or non"),
        (4, {"equals": 4, "moves": True}, "moves with rounding, and equals 4; give a bound that it keeps"),
        ([], {"below": 2.0}, "has no values; an empty list satisfies any bound"),
    ],
)
def test_message_a_claim_that_cannot_be(value, bounds, sentence):
    with pytest.raises(ValueError, match=re.escape(f"claim 'keys' {sentence}")):
        claim("keys", value, **bounds)


# The chapters.


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_law_every_claim_is_displayed_once(path):
    assert claims.lint(read(path)) == []
    notebook = nbformat.read(ROOT / "chapters" / f"{path.stem}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            named_claims(cell)  # it raises if the cell displayed another number of claims than it names


CLAIM = 'claim("hidden pairs of 19 tokens", hidden[-1], between=(0.45, 0.5))'
CHECK = 'check(torch.equal(causal_mask(2), by_hand), "by hand and by the package")'
FAULTS = [
    (f":claims: [nearly-half]\n\n{CLAIM}", "", "there is no claim for {claim}`nearly-half[0] :.1%`"),
    ("[nearly-half]", "[nearly-half, nearly-half]", "2 claims are named nearly-half"),
    (CLAIM, f"for hidden in [hidden]:\n    {CLAIM}", "is in a loop or function; give it a sequence"),
    (CLAIM, f"{CLAIM}\n{CLAIM}", "a cell with 2 claims has the option :claims: [nearly-half]"),
    ("hidden[-1], between=(0.45, 0.5)", "hidden[-1] > 0.45", "hides what it measured; give the number"),
    ("hidden pairs of 19", "hidden <pad> of 19", "names a tag, which Markdown hides"),
    ("[nearly-half]", "[Nearly]", "'Nearly' cannot be an anchor"),
    ("They agree.", "They [agree](#claim-nearly-half).", "[agree] links to a claim; the line"),
    ("- The last reads all.\n", "", "What we showed has 4 items, not 5 to 8"),
    (CHECK, 'check(True, "")', "a check that cannot fail: check(True, '')"),
    (CHECK, "assert by_hand.all()", "an assert: assert by_hand.all(); make it check("),
    (":tags: [hide-cell]\n", "", "a visible check: check(torch.equal"),
]


def test_law_deleted_duplicate_and_linked_claims_are_reported(small):
    assert claims.lint(parse(small, "01_fixture.md")) == []
    for old, new, complaint in FAULTS:
        changed = parse(small.replace(old, new), "01_fixture.md")
        assert any(complaint in line for line in claims.lint(changed))
