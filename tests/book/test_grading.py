"""The exercises of all chapters: untouched, they are empty, and with the book's solutions, they pass."""

import ast
import json
import re
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


@pytest.fixture(scope="module")
def notebooks():
    """Return the notebook of each chapter, as its source gives it, without outputs."""
    book = Book(ROOT)
    return {path.stem: unexecuted(path, book) for path in SOURCES}


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


def test_law_every_exercise_is_found_with_its_number_and_is_empty_at_first(notebooks, tmp_path):
    for name, notebook in notebooks.items():
        found = read(notebook, tmp_path)
        assert [one.id for one in found] == [f"{int(name[:2])}.{i}" for i in range(1, len(found) + 1)]
        assert len(found) == len(tagged(notebook, "exercise"))
        assert all(one.untouched and one.check for one in found), name


def test_law_grading_executes_few_cells_of_a_chapter(notebooks, tmp_path):
    found = [one for notebook in notebooks.values() for one in read(solved(notebook), tmp_path)]
    assert not any(one.untouched for one in found)
    assert sum(len(one.cells) > 3 for one in found) < len(found) / 20


@pytest.mark.parametrize("id", SOME)
def test_law_some_solutions_pass_as_answers(notebooks, tmp_path, id):
    (notebook,) = (found for name, found in notebooks.items() if int(name[:2]) == int(id.partition(".")[0]))
    (one,) = (one for one in read(solved(notebook), tmp_path) if one.id == id)
    passed, message = grade(one, tmp_path, 100.0)
    assert passed, message


@pytest.mark.slow
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_law_all_solutions_pass_as_answers(notebooks, tmp_path, path):
    found = read(solved(notebooks[path.stem]), tmp_path)
    verdicts = {one.id: grade(one, tmp_path, 100.0) for one in found}
    assert verdicts
    assert {id: message for id, (passed, message) in verdicts.items() if not passed} == {}
