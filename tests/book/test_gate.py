"""What keeps the chapters honest: no change that makes one untrue passes `make test`.

Its stages `fresh` and `chapters-run` are run here as they are, on a small copy of the project.
"""

import ast
import inspect
import shutil
import sys
from pathlib import Path

import nbformat
import pytest

from annotated_transformer.model.masks import causal_mask

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def make(run):
    """Call a target of the copy's Makefile with this environment, whatever its age."""
    return lambda target: run("make", "-o", ".venv/ready", f"RUN={sys.executable}", target)


@pytest.fixture
def built(copy, build):
    """Return the small chapter's source and its notebook, just built."""
    source = copy / "chapters" / "src" / "01_fixture.md"
    shutil.copy(Path(__file__).parent / "fixture" / "01_fixture.md", source)
    result = build()
    assert result.returncode == 0, result.stdout
    return source, copy / "chapters" / "01_fixture.ipynb"


def change(path, old, new):
    text = path.read_text("utf-8")
    assert old in text, f"{old!r} is not in {path.name}"
    path.write_text(text.replace(old, new), "utf-8")


def test_law_make_test_runs_both_stages():
    stages = next(
        line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith("STAGES :=")
    )
    assert {"fresh", "chapters-run"} <= set(stages.split())


def test_law_a_chapter_as_built_is_green_and_no_changed_cell_is(built, make):
    source, notebook = built
    for target in ("fresh", "chapters-run"):  # the control: without it, red would prove nothing
        result = make(target)
        assert result.returncode == 0, result.stdout
    original = source.read_text("utf-8")
    for old, new in (
        ("range(1, 20)]", "range(1, 21)]"),  # code
        ("The first token looks", "The first token looms"),  # prose
        ("tags: [hide-input]\n\nfig", "tags: [hide-cell]\n\nfig"),  # what the page shows
    ):
        change(source, old, new)
        result = make("fresh")
        assert result.returncode != 0
        assert "01_fixture: the notebook's cells are not its source's" in result.stdout
        source.write_text(original, "utf-8")
    change(notebook, "- A mask is a triangle", "- A mask is a triangel")  # the notebook, by hand
    assert make("fresh").returncode != 0


def test_law_a_changed_output_is_red(built, make):
    _, notebook = built
    change(notebook, '"At 19 tokens 47% of', '"At 19 tokens 48% of')  # a sentence
    change(notebook, '"A curve climbs from 0.00 to 0.47', '"A curve climbs from 0.00 to 0.48')  # an alt text
    change(notebook, '"        [ True,  True]])"', '"        [ True, False]])"')  # a printed tensor
    change(notebook, '"✓ a square', '"✗ a square')  # a verdict
    assert make("fresh").returncode == 0  # the cells are still the source's: only execution tells
    result = make("chapters-run")
    assert result.returncode != 0
    assert "4 failed" in result.stdout


def test_law_a_changed_line_of_a_shown_function_is_red(copy, built, make):
    last = inspect.getsource(inspect.unwrap(causal_mask)).splitlines()[-1]
    change(copy / "annotated_transformer" / "model" / "masks.py", last, last + "  # says nothing new")
    assert make("fresh").returncode == 0
    result = make("chapters-run")
    assert result.returncode != 0
    assert "1 failed" in result.stdout
    assert "says nothing new" in result.stdout


def unexecuted(notebook):
    """Return the cells without the outputs that nbval would compare."""
    wrong = []
    for cell in notebook.cells:
        if cell.cell_type != "code" or "nbval-ignore-output" in cell.metadata.get("tags", []):
            continue
        last = ast.parse(cell.source).body[-1:]
        call = last[0].value.func if last and isinstance(getattr(last[0], "value", None), ast.Call) else None
        shows = isinstance(last[0], ast.Expr) and getattr(call, "id", "").startswith(
            ("show_", "say", "check_")
        )
        if not cell.execution_count or (shows and not cell.outputs):
            wrong.append(cell.source)
    return wrong


def test_law_every_committed_cell_was_executed():
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        assert unexecuted(nbformat.read(path, as_version=4)) == [], path.name


def test_law_an_unexecuted_cell_is_noticed():
    new = nbformat.v4.new_code_cell
    output = nbformat.v4.new_output("execute_result", {"text/plain": "words"})
    good = new("say('words')", execution_count=1, outputs=[output])
    live = new("explore(draw)", execution_count=3, metadata={"tags": ["nbval-ignore-output"]})
    quiet = new("x = 1", execution_count=2)
    assert unexecuted(nbformat.v4.new_notebook(cells=[good, quiet, live])) == []
    for bad in (
        new("x = 2"),
        new("show_figure(fig)", execution_count=1),
        new("check_x(y)", execution_count=1),
    ):
        assert unexecuted(nbformat.v4.new_notebook(cells=[good, bad])) == [bad.source]
