"""The exercises of all chapters: untouched, they are empty, and with the book's solutions, they pass."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import nbformat
import pytest

from annotated_transformer.book.grading.execution import grade
from annotated_transformer.book.grading.notebook import read_exercises
from builder.book import Book
from builder.chapters import written
from builder.site.notebooks import without_solutions
from builder.staleness import unexecuted

ROOT = Path(__file__).resolve().parents[2]
SOURCES = written(ROOT, "[0-9]*")
SOME = ("3.2", "5.7", "9.4", "12.4", "16.3")  # one needs a cell of its chapter, others its settings


@cache
def book():
    return Book(ROOT)


@cache
def chapter(path):
    """Return the notebook of a chapter, as its source gives it, without outputs."""
    return unexecuted(path, book())


def tagged(notebook, tag):
    return [
        cell for cell in notebook.cells if cell.cell_type == "code" and tag in cell.metadata.get("tags", [])
    ]


def checked(cell):
    """Return the arguments of the check at the end of a cell."""
    return [ast.unparse(argument) for argument in ast.parse(cell.source).body[-1].value.args]


def solved(notebook):
    """Return a copy of a notebook in which the answers are the book's solutions."""
    copy = nbformat.from_dict(json.loads(json.dumps(notebook)))
    answers, solutions = tagged(copy, "exercise"), tagged(copy, "solution")
    for answer, solution in zip(answers, solutions, strict=True):
        source = solution.source
        for ours, theirs in zip(checked(solution), checked(answer), strict=True):
            source = re.sub(rf"\b{re.escape(ours)}\b", theirs, source)
        answer.source = source
    return copy


def read(notebook, folder):
    path = folder / "mine.ipynb"
    path.write_text(json.dumps(without_solutions(notebook)), encoding="utf-8")
    return read_exercises(path)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_law_every_exercise_is_found_with_its_number_and_is_empty_at_first(tmp_path, path):
    found = read(chapter(path), tmp_path)
    assert [one.id for one in found] == [f"{int(path.stem[:2])}.{i}" for i in range(1, len(found) + 1)]
    assert len(found) == len(tagged(chapter(path), "exercise"))
    assert all(one.untouched and one.check for one in found)


def test_law_grading_executes_few_cells_of_a_chapter(tmp_path):
    found = [one for path in SOURCES for one in read(solved(chapter(path)), tmp_path)]
    assert not any(one.untouched for one in found)
    assert sum(len(one.cells) > 3 for one in found) < len(found) / 20


@pytest.mark.parametrize("id", SOME)
def test_law_some_solutions_pass_as_answers(tmp_path, id):
    (path,) = (path for path in SOURCES if int(path.stem[:2]) == int(id.partition(".")[0]))
    (one,) = (one for one in read(solved(chapter(path)), tmp_path) if one.id == id)
    passed, message = grade(one, tmp_path, 100.0)
    assert passed, message


@pytest.mark.slow
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_law_all_solutions_pass_as_answers(tmp_path, path):
    found = read(solved(chapter(path)), tmp_path)
    verdicts = {one.id: grade(one, tmp_path, 100.0) for one in found}
    assert verdicts
    assert {id: message for id, (passed, message) in verdicts.items() if not passed} == {}
