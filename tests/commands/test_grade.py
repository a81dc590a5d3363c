"""The command `grade`: a row for each exercise, as a table or as CSV, and an exit status."""

import csv
import os
import re
import sys
from io import StringIO
from pathlib import Path

import nbformat
import pytest

from annotated_transformer.__main__ import main
from builder.reader import mark

IMPORT = "from annotated_transformer.book.chapters.scaled_dot_product_attention import exercises as checks"
STARTER = "def softmax(scores):\n    raise NotImplementedError('your turn')\nchecks.check_softmax(softmax)"
WRONG = STARTER.replace("NotImplementedError('your turn')", "RuntimeError('\\x1b[31m' + 999 * 'a, ')")
GUESS = 'guess = dict.fromkeys(["a"], "?")\nchecks.check_predictions(guess)'
RIGHT = """guess = {
    "add 5 to every score": "unchanged",
    "double the query": "sharper",
    "halve every key": "flatter",
    "replace the values": "unchanged",
    "scale one key": "other",
}"""
METADATA = {"exercises": {"3.1": GUESS.split("\n")[1], "3.2": STARTER.split("\n")[2], "3.3": "check_it(x)"}}
PRAISE = "only differences between scores count; their size decides how sharp the weights are."


def write(path: Path, guess: str, softmax: str) -> Path:
    """Write a notebook of three exercises: one to guess, one to program, and one whose code is missing."""
    cells = [
        nbformat.v4.new_code_cell(IMPORT),
        nbformat.v4.new_code_cell(guess, metadata={"exercise": mark("3.1", GUESS)}),
        nbformat.v4.new_code_cell(softmax, metadata={"exercise": mark("3.2", STARTER)}),
        nbformat.v4.new_markdown_cell("### Exercise 3.3", metadata={"exercise": mark("3.3")}),
    ]
    path.write_text(
        nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata=METADATA)), encoding="utf-8"
    )
    return path


def test_law_the_table_and_the_csv_have_the_rows_of_all_notebooks_in_their_order(tmp_path: Path, capsys):
    good = write(tmp_path / "a.ipynb", f"{RIGHT}\nchecks.check_predictions(guess)", STARTER)
    odd = write(tmp_path / os.fsdecode(b"long \xff.ipynb"), GUESS, WRONG)
    bad = tmp_path / "bad.ipynb"
    bad.write_text("{", encoding="utf-8")
    paths = [str(path) for path in (bad, good, odd, tmp_path / "gone.ipynb", tmp_path)]
    file = tmp_path / "all.csv"
    assert main(["grade", *paths, "--csv", str(file), "--jobs", "2"]) == 2
    out, err = capsys.readouterr()
    names = [path.replace("\udcff", "\\xff") for path in paths]
    assert err == f"error: 5 of 5 notebooks could not be graded: {', '.join(names)}\n"
    rows = list(csv.reader(StringIO(file.read_text("utf-8"))))
    missing = [
        "3.3",
        "not graded",
        "no cell calls check_it(x); copy the exercise's cell from the book's notebook",
    ]
    assert [row[:3] for row in rows if row[1] == "3.2"] == [
        [names[1], "3.2", "empty"],
        [names[2], "3.2", "no"],
    ]
    assert [row for row in rows if row[1] != "3.2"] == [
        ["notebook", "exercise", "passed", "message"],
        [names[0], "", "not graded", "it is not a notebook; give a file that Jupyter has saved, *.ipynb"],
        [names[1], "3.1", "yes", PRAISE],
        [names[1], *missing],
        [names[2], "3.1", "empty", ""],
        [names[2], *missing],
        [names[3], "", "not graded", "No such file or directory"],
        [names[4], "", "not graded", "Is a directory"],
    ]
    (said,) = (row[3] for row in rows if row[1:3] == ["3.2", "no"])
    assert said.startswith("your code stopped with RuntimeError: [31ma, a, a, ")  # no escape
    assert len(said) <= 300
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines == [" ".join(" ".join(row).split()) for row in rows]
    assert len({line.index(row[1]) for line, row in zip(out.splitlines(), rows, strict=True) if row[1]}) == 1


def test_law_one_notebook_needs_no_name_and_the_status_is_0_if_all_is_graded(tmp_path: Path, capsys):
    path = write(tmp_path / "mine.ipynb", GUESS, WRONG)
    notebook = nbformat.read(path, as_version=4)
    del notebook.cells[3], notebook.metadata.exercises["3.3"]
    nbformat.write(notebook, path)
    assert main(["grade", str(path)]) == 0
    assert capsys.readouterr().out.startswith("exercise  passed      message\n3.1       empty\n3.2       no ")
    assert main(["grade", str(path), "--csv", "-"]) == 0
    assert capsys.readouterr().out.startswith(f"notebook,exercise,passed,message\n{path},3.1,empty,\n")


@pytest.mark.message
@pytest.mark.parametrize("time", ["0", "-1", "nan", "inf"])
def test_message_a_time_that_is_none(tmp_path: Path, time: str, capsys):
    assert main(["grade", str(tmp_path), "--timeout", time]) == 2
    assert f"--timeout {time} is not a time; give a number of seconds above 0" in capsys.readouterr().err
    assert main(["grade", str(tmp_path), "--jobs", "0"]) == 2
    assert "--jobs 0 executes no notebook; give 1 or more" in capsys.readouterr().err
    assert main(["grade", "--csv", "a.ipynb", "b.ipynb"]) == 2
    assert "--csv a.ipynb would overwrite a notebook; give another file" in capsys.readouterr().err


@pytest.mark.message
def test_message_a_folder_of_the_csv_that_does_not_exist(tmp_path: Path, capsys):
    assert main(["grade", str(tmp_path), "--csv", str(tmp_path / "gone" / "all.csv")]) == 2
    assert "all.csv cannot be written: there is no folder" in capsys.readouterr().err


@pytest.mark.message
def test_message_what_grading_needs_is_not_installed(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "annotated_transformer.book.grading", None)
    assert main(["grade", str(tmp_path)]) == 2
    reason = r"grading needs .*, which is not installed; run pip install '.\[grade\]'"
    assert re.search(reason, capsys.readouterr().err)
