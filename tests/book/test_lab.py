"""The copies that `make lab` and `make student` give to readers."""

import importlib
import sys

import nbformat
import pytest

from tests.book.conftest import copy_project

START = "**The question.** Why?\n\n*Reading: 2 minutes. Running: 10 seconds on a laptop.*"


def write(path, *cells):
    path.parent.mkdir(exist_ok=True)
    made = [
        nbformat.v4.new_code_cell(cell, id=f"c{i}")
        if kind == "code"
        else nbformat.v4.new_markdown_cell(cell, id=f"c{i}", metadata={"tags": [kind]} if kind else {})
        for i, (kind, cell) in enumerate(cells)
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=made), path)
    return path


@pytest.fixture
def lab(root, tmp_path, monkeypatch):
    """Return `lab.py` of a copy of the project."""
    copy_project(root, tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "chapters")
    for name in ("book", "build", "imports", "lab", "reader", "staleness"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("lab")


def test_law_lab_renews_its_copies_but_keeps_what_the_reader_changed(lab, tmp_path, capsys):
    chapter, mine = tmp_path / "chapters" / "01_one.ipynb", tmp_path / "_lab" / "01_one.ipynb"
    write(chapter, ("", f"# One\n\n{START}"), ("code", "1"))
    lab.main([])
    assert mine.read_bytes() == chapter.read_bytes()
    page = (tmp_path / "_lab" / "start.ipynb").read_text()
    assert "| [One](01_one.ipynb) | 10 seconds on a laptop |" in page

    saved = nbformat.read(mine, as_version=4)  # opened, run, and saved: the same cells
    saved.cells[1].update(execution_count=3, metadata={"trusted": True})
    nbformat.write(saved, mine)
    write(chapter, ("", "# One"), ("code", "2"))
    lab.main([])
    assert mine.read_bytes() == chapter.read_bytes()
    assert capsys.readouterr().out == ""

    write(mine, ("", "# One"), ("code", "my change"))
    lab.main([])
    assert capsys.readouterr().out == ""
    write(chapter, ("", "# One"), ("code", "3"))
    lab.main([])
    assert "kept your 01_one.ipynb, which you changed; the newer chapter is" in capsys.readouterr().out
    assert "my change" in mine.read_text()
    mine.unlink()
    lab.main([])
    assert mine.read_bytes() == chapter.read_bytes()


def test_law_students_get_no_solution_and_no_word_of_it(lab, tmp_path, capsys):
    cells = [
        ("", "### Exercise 1.1"),
        ("solution", "#### Solution"),
        ("solution", "Because."),
        ("", "## End"),
    ]
    write(tmp_path / "chapters" / "01_one.ipynb", *cells)
    lab.main(["--student"])
    assert capsys.readouterr().out == "wrote 1 notebooks without solutions into _build/student\n"
    found = nbformat.read(tmp_path / "_build" / "student" / "01_one.ipynb", as_version=4)
    assert [cell.source for cell in found.cells] == ["### Exercise 1.1", "## End"]


def test_message_lab_knows_one_option(lab):
    with pytest.raises(SystemExit, match="unknown arguments: --teacher; give none, or --student"):
        lab.main(["--teacher"])
