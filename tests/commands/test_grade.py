"""The command `grade`: a row for each exercise, as a table and as CSV, and an exit status."""

import csv
import json
import os
import re
import sys
from pathlib import Path

import nbformat
import pytest

from annotated_transformer.book import grading

IMPORT = "from annotated_transformer.book.chapters.scaled_dot_product_attention import exercises as checks"
STARTER = "def softmax(scores):\n    raise NotImplementedError('your turn')\nchecks.check_softmax(softmax)"
WRONG = STARTER.replace("NotImplementedError('your turn')", "RuntimeError('\\x1b[31m' + 999 * 'a, ')")


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch) -> None:
    """Let the book have one exercise."""
    monkeypatch.setattr(grading, "TABLE", tmp_path / "table.json")
    row = STARTER.split("\n")[2], grading.starter_digest(STARTER)
    grading.TABLE.write_text(json.dumps({"version": "1", "3": {"3.2": row}}), encoding="utf-8")


def write(path: Path, softmax: str, *more: str) -> Path:
    """Write a notebook with an answer to the exercise, which lists `more` of them."""
    cells = [
        nbformat.v4.new_code_cell(IMPORT),
        nbformat.v4.new_code_cell(softmax, metadata={"exercise": {"id": "3.2"}}),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"exercises": ["3.2", *more]})
    path.write_text(nbformat.writes(notebook), encoding="utf-8")
    return path


def test_law_the_table_and_the_csv_have_the_rows_of_all_notebooks_in_their_order(tmp_path: Path, run):
    good = write(tmp_path / "a.ipynb", STARTER, "=1+1")
    odd = write(tmp_path / os.fsdecode(b"long \xff.ipynb"), WRONG)
    (tmp_path / "bad.ipynb").write_text("{", encoding="utf-8")
    paths = [str(path) for path in (tmp_path / "bad.ipynb", good, odd, tmp_path / "gone.ipynb")]
    file = tmp_path / "all.csv"
    out, err = run("grade", *paths, "--csv", file, "--jobs", 2, status=2)
    bad, good, odd, gone = (path.replace("\udcff", "\\xff") for path in paths)
    assert err == f"error: 3 of 4 notebooks could not be graded: {bad}, {good}, {gone}\n"
    rows = list(csv.reader(file.read_text("utf-8").splitlines()))
    message = rows[5].pop()
    assert message.startswith("your code stopped with RuntimeError: [31ma, a, a, ")  # no escape
    assert len(message) <= 300
    assert rows == [
        ["notebook", "exercise", "passed", "message"],
        [bad, "", "not graded", "it is not a notebook; give a file that Jupyter has saved, *.ipynb"],
        [good, "3.2", "empty", ""],
        [good, "'=1+1", "not graded", "the installed version of the book has no such exercise"],
        [good, "total", "0 of 2", ""],
        [odd, "3.2", "no"],
        [odd, "total", "0 of 1", ""],
        [gone, "", "not graded", "No such file or directory"],
    ]
    lines = [" ".join(line.split()) for line in out.splitlines()]
    rows[5].append(message)
    rows[3][1] = "=1+1"  # only a spreadsheet would compute it
    assert lines == [" ".join(" ".join(row).split()) for row in rows]


def test_law_one_notebook_needs_no_name_and_the_status_is_0_if_all_is_graded(tmp_path: Path, run):
    path = write(tmp_path / "mine.ipynb", WRONG)
    assert run("grade", path)[0].startswith("exercise  passed      message\n3.2       no ")
    assert run("grade", path, "--csv", "-")[0].startswith(f"notebook,exercise,passed,message\n{path},3.2,no,")


@pytest.mark.message
def test_message_what_grading_needs_is_not_installed(tmp_path: Path, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "annotated_transformer.book.grading", None)
    reason = r"grading needs .*, which is not installed; run pip install '.\[grade\]'"
    assert re.search(reason, run("grade", tmp_path, status=2)[1])
