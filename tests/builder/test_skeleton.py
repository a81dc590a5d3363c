"""Every chapter has the same skeleton, as checked by `builder/lint/skeleton.py`."""

from pathlib import Path

import jupytext
import pytest

from builder.build import complaints
from builder.chapters import written
from builder.lint.cells import lint_notebook
from builder.lint.skeleton import lint
from builder.source import parse

ROOT = Path(__file__).resolve().parents[2]
FOUR = "".join(
    f"```{{exercise-start}} Title {kind}\n:label: ex-{kind}\n:class: {kind} stars-2\n```\nText.\n"
    "```{exercise-end}\n```\n\n"
    for kind in ("predict", "debug", "derive", "extend")
)


@pytest.mark.parametrize("path", written(ROOT), ids=lambda path: path.stem)
def test_law_no_rule_has_anything_against_a_chapter_or_a_guide(path):
    assert complaints(path) == [], "\n".join(complaints(path))


@pytest.fixture
def good(small) -> str:
    return small.replace("## What we showed", FOUR + "## What we showed")


def test_law_the_small_chapter_has_all_parts(good):
    assert lint(parse(good, "01_fixture.md")) == []
    assert lint(parse(good, "fixture.md")) == []


CELL = "```{code-cell} ipython3\n"


FAULTS = [
    ("proves the machinery that carries the large ones", "", "the title must be a sentence"),
    ("prerequisites: [nothing]\n", "", "the front matter has no prerequisites"),
    ("## Why not a loop?", "## A loop", "sections are missing: Why not"),
    ("## The equation, in one line", "## What we showed, first", "the sections are out of order"),
    ("show_source(causal_mask)", "causal_mask", "The code that the model runs: no show_source"),
    ("claim(\"hidden", "print(\"hidden", "An experiment: how much a mask hides: no claim"),
    ("fig, ax = new_figure()", "fig, ax = plt.subplots()", "plt.subplots bypasses show_figure"),
    ('"1.2", draw', '"1.3", draw', "numbered 1.1, 1.3; in reading order they are 1.1, 1.2"),
    ("(#figure-1-1)", "(#figure-1-3)", "there is no figure 1.3"),
    ("[figure 1.1]", "[figure 1.2]", "'figure 1.2' links to figure 1.1"),
    ("Drag to 5: half a square is", "Drag to *five*: it is", "the words of figure 1.2 have '*five*'"),
    ("Drag to 5: half a square is", "The dark half is", "the caption of figure 1.2 says 'dark', false in"),
    (FOUR[: FOUR.index("\n\n") + 2], "", "4 exercises, not 5 to 7"),
    (":class: debug stars-2", ":class: debug stars-4", "ex-debug: no class such as"),
    ("by_hand\n```", "by_hand\n" + "x = 0\n" * 14 + "```", "16 lines, more than 14; split or fold it"),
    (":tags: [hide-cell]\n\n# checks", "# checks", "a cell of checks must be tagged hide-cell"),
    ('show_figure("1.1"', 'show_figure("1.0", fig)\nshow_figure("1.1"', "only a cell's last expression"),
    ("\n## The equation", "\n## A\n" * 9 + "\n## The equation", "13 sections before the exercises"),
    ("## By hand", "Word. " * 4000 + "\n\n## By hand", "words before the exercises, more than 4000"),
    ("### A number", "### A feeling", "'The loss is NaN' is in A feeling, not in one of A message, A shape"),
    ("- *Test.* Look at", "- Look at", "'The loss is too good' has not the items *Cause.*"),
    ("**The loss is too good**", "**The loss is NaN**", "'The loss is NaN' occurs twice"),
    (" ({ref}`ex-square`)", "", "'The loss is too good' has no link to the section that teaches it"),
    ("**The loss is NaN**", "**The loss is [NaN](#x)**", "a title has no link"),
    ("## Symptoms", "Word. " * 7500 + "\n\n## Symptoms", "words in the handbook, more than 7500"),
    (" {whence}`run here`", "", "'The loss is NaN': its first line does not end with one {whence}"),
    ("{whence}`experience`", "{whence}`hearsay`", "'The loss is too good': its first line does not"),
    ("| documented |", "| |", "a row of a table ends with '', not with one of run here"),
    ("(https://pytorch.org/docs/stable/index.html)", "(x)", "an item without a URL: - PyTorch"),
    ("A triangle of booleans that hides what comes later.", "A triangle", "causal mask is not explained"),
]  # fmt: skip


def test_law_missing_parts_are_named(good):
    for old, new, complaint in FAULTS:
        assert old in good
        found = lint(parse(good.replace(old, new, 1), "01_fixture.md"))
        assert any(complaint in line for line in found), (old, new, complaint, found)


@pytest.mark.parametrize(
    ("tags", "lines", "complaint"),
    [(":tags: [hide-input]\n", 101, "folded lines"), ("", 231, "lines of code")],
)
def test_law_much_code_before_the_exercises_is_named(good, tags, lines, complaint):
    cell = f"{CELL}{tags}x = 0" + "\nx = 0" * (lines - 1) + "\n```\n\n"
    before = lint(parse(good, "12_fixture.md"))
    after = lint(parse(good.replace("## Exercises", cell + "## Exercises", 1), "12_fixture.md"))
    assert any(complaint in line for line in after)
    assert not any("before the exercises, more than" in line for line in before)


def test_law_a_table_that_is_short_is_named(small):
    def executed(text):
        cells = jupytext.reads(text, fmt="md:myst").cells
        for cell in cells:
            if cell.cell_type == "code":
                cell.outputs = [{"output_type": "stream", "text": "something"}]
        return cells

    assert lint_notebook(executed(small)) == []
    short = executed(small.replace("| Library | Name |", "Library | Name |"))
    assert lint_notebook(short) == ["In other libraries: no table"]
    printed = {"output_type": "display_data", "data": {"text/markdown": "| a |\n| - |\n| 1 |"}}
    short.append({"cell_type": "markdown", "source": "## In other libraries, computed", "metadata": {}})
    short.append({"cell_type": "code", "source": "say(x)", "metadata": {}, "outputs": [printed]})
    assert len(lint_notebook(short)) == 1  # only the first table: the second is computed
