"""The command `grade`: a row for each exercise, as a table or as CSV, and an exit status."""

import csv
import json
import re
import sys
from io import StringIO
from pathlib import Path

import pytest

from annotated_transformer.__main__ import main
from annotated_transformer.book.grading.notebook import mark

IMPORT = "from annotated_transformer.book.chapters.scaled_dot_product_attention import exercises as checks"
STARTER = "def softmax(scores):\n    raise NotImplementedError('your turn')\nchecks.check_softmax(softmax)"
WRONG = "def softmax(scores):\n    raise RuntimeError('\\x1b[31m' + 999 * 'a, ')"
GUESS = 'guess = dict.fromkeys(["a"], "?")\nchecks.check_predictions(guess)'
RIGHT = """guess = {
    "add 5 to every score": "unchanged",
    "double the query": "sharper",
    "halve every key": "flatter",
    "replace the values": "unchanged",
    "scale one key": "other",
}"""
PRAISE = "only differences between scores count; their size decides how sharp the weights are."


def write(path: Path, guess: str, softmax: str) -> Path:
    """Write a notebook of three exercises: one to guess, one to program, and one without a check."""
    cells = [
        {"cell_type": "code", "source": IMPORT, "metadata": {}},
        {"cell_type": "code", "source": guess, "metadata": {"exercise": mark("3.1", GUESS)}},
        {"cell_type": "code", "source": softmax, "metadata": {"exercise": mark("3.2", STARTER)}},
        {"cell_type": "markdown", "source": "### Exercise 3.3", "metadata": {"exercise": mark("3.3")}},
    ]
    metadata = {"kernelspec": {"language": "python"}}
    path.write_text(json.dumps({"cells": cells, "metadata": metadata}), encoding="utf-8")
    return path


def test_law_each_exercise_has_a_row(tmp_path: Path, capsys):
    path = write(tmp_path / "mine.ipynb", RIGHT, STARTER)
    assert main(["grade", str(path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "exercise  passed      message",
        f"3.1       yes         {PRAISE}",
        "3.2       empty",
        "3.3       not graded  it has no check.",
    ]


def test_law_several_notebooks_are_told_apart_and_the_csv_has_the_same_rows(tmp_path: Path, capsys):
    paths = [write(tmp_path / "a.ipynb", GUESS, WRONG), write(tmp_path / "long name.ipynb", GUESS, STARTER)]
    file = tmp_path / "all.csv"
    assert main(["grade", *map(str, paths), "--csv", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = list(csv.reader(StringIO(file.read_text("utf-8"))))
    assert [" ".join(line.split()) for line in lines] == [" ".join(" ".join(row).split()) for row in rows]
    assert rows[0] == ["notebook", "exercise", "passed", "message"]
    assert [row[:3] for row in rows[1:]] == [
        [str(path), exercise, passed]
        for path, second in zip(paths, ("no", "empty"), strict=True)
        for exercise, passed in (("3.1", "empty"), ("3.2", second), ("3.3", "not graded"))
    ]
    assert rows[2][3].startswith("your code stopped with RuntimeError: [31ma, a, a, ")  # no escape
    assert len(rows[2][3]) <= 300
    assert len({line.index(row[1]) for line, row in zip(lines, rows, strict=True)}) == 1
    assert main(["grade", *map(str, paths), "--csv", "-"]) == 0
    assert list(csv.reader(StringIO(capsys.readouterr().out))) == rows


def test_law_a_notebook_that_cannot_be_graded_is_named_and_the_others_are_graded(tmp_path: Path, capsys):
    good = write(tmp_path / "good.ipynb", GUESS, STARTER)
    (tmp_path / "bad.ipynb").write_text("{", encoding="utf-8")
    paths = [str(path) for path in (tmp_path / "bad.ipynb", good, tmp_path / "gone.ipynb", tmp_path)]
    assert main(["grade", *paths, "--csv", "-"]) == 2
    out, err = capsys.readouterr()
    rows = list(csv.reader(StringIO(out)))[1:]
    assert [row[0] for row in rows] == [paths[0], *[paths[1]] * 3, *paths[2:]]
    assert [row for row in rows if not row[1]] == [
        [paths[0], "", "not graded", "it is not a notebook; give a file that Jupyter has saved, *.ipynb."],
        [paths[2], "", "not graded", "No such file or directory."],
        [paths[3], "", "not graded", "Is a directory."],
    ]
    wrong = ", ".join([paths[0], *paths[2:]])
    assert err == f"error: 3 of 4 notebooks could not be graded: {wrong}\n"


@pytest.mark.message
@pytest.mark.parametrize("time", ["0", "-1", "nan", "inf"])
def test_message_a_time_that_is_none(tmp_path: Path, time: str, capsys):
    assert main(["grade", str(tmp_path), "--timeout", time]) == 2
    assert f"--timeout {time} is not a time; give a number of seconds above 0" in capsys.readouterr().err


@pytest.mark.message
def test_message_a_folder_of_the_csv_that_does_not_exist(tmp_path: Path, capsys):
    assert main(["grade", str(tmp_path), "--csv", str(tmp_path / "gone" / "all.csv")]) == 2
    assert "all.csv cannot be written: there is no folder" in capsys.readouterr().err


@pytest.mark.message
def test_message_what_grading_needs_is_not_installed(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "annotated_transformer.book.grading.execution", None)
    assert main(["grade", str(tmp_path)]) == 2
    reason = r"grading needs .*, which is not installed; run pip install '.\[notebooks\]'"
    assert re.search(reason, capsys.readouterr().err)
