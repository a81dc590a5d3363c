"""The copies that `make lab` and `make student` give to readers."""

import nbformat
import pytest

START = "**The question.** Why?\n\n*Reading: 2 minutes. Running: 10 seconds on one CPU core.*"


def write(path, *cells):
    path.parent.mkdir(exist_ok=True)
    notebook = nbformat.v4.new_notebook()
    for i, (kind, cell) in enumerate(cells):
        make = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
        notebook.cells.append(make(cell, id=f"c{i}", metadata={"tags": [kind] * bool(kind)}))
    nbformat.write(notebook, path)


def codes(path):
    return [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


@pytest.fixture
def lab(module):
    return module("lab")


@pytest.fixture(params=["", "--student"])
def edition(lab, tmp_path, request):
    """Return a function that copies the notebooks as `make lab` or `make student` does, and their folder."""
    return lambda: lab.main(request.param.split()), tmp_path / ("_student" if request.param else "_lab")


def test_law_copies_are_renewed_unless_the_reader_changed_them(edition, tmp_path, capsys):
    make, folder = edition
    chapter, mine = tmp_path / "chapters" / "01_one.ipynb", folder / "01_one.ipynb"
    write(chapter, ("", f"# 1. One\n\n{START}"), ("code", "1"))
    make()
    assert codes(mine) == ["1"]
    page = nbformat.read(folder / "start.ipynb", as_version=4)
    assert "| [1. One](01_one.ipynb) | 10 seconds |" in page.cells[0].source
    assert page.metadata.kernelspec == {"display_name": "Python 3", "language": "python", "name": "python3"}

    saved = nbformat.read(mine, as_version=4)  # opened, run, and saved: the same cells
    saved.cells[1].update(execution_count=3, metadata={"trusted": True})
    nbformat.write(saved, mine)
    make()
    assert nbformat.read(mine, as_version=4).cells[1].execution_count == 3  # nothing is newer
    write(chapter, ("", "# One"), ("code", "2"))
    make()
    assert codes(mine) == ["2"]
    write(mine, ("", "# One"), ("code", "my change"))
    make()
    assert capsys.readouterr().out == ""
    write(chapter, ("", "# One"), ("code", "3"))
    make()
    told = "kept your 01_one.ipynb, which you changed; rename it to get the newer one\n"
    assert (codes(mine), capsys.readouterr().out) == (["my change"], told)
    mine.rename(folder / "mine.ipynb")
    make()
    assert (codes(mine), codes(folder / "mine.ipynb")) == (["3"], ["my change"])


def test_law_a_copy_that_cannot_be_read_or_whose_original_is_lost_is_kept(edition, tmp_path, capsys):
    make, folder = edition
    write(tmp_path / "chapters" / "01_one.ipynb", ("code", "1"))
    make()
    for damaged in (b"", b"{", b"[]", b'{"cells": 3}', b"\xff"):
        (folder / "01_one.ipynb").write_bytes(damaged)
        make()
        assert (folder / "01_one.ipynb").read_bytes() == damaged
    write(folder / "01_one.ipynb", ("code", "1"))
    (folder / ".original" / "01_one.ipynb").unlink()
    make()
    assert "kept your 01_one.ipynb" in capsys.readouterr().out


def test_law_students_get_no_solution_and_no_word_of_it(lab, tmp_path):
    cells = [("", "### Exercise 1.1"), ("solution", "#### Solution"), ("solution", "Yes."), ("", "## End")]
    write(tmp_path / "chapters" / "01_one.ipynb", *cells)
    lab.main(["--student"])
    for found in (tmp_path / "_student").rglob("01_one.ipynb"):
        copied = nbformat.read(found, as_version=4).cells
        assert [cell.source for cell in copied] == ["### Exercise 1.1", "## End"]
    assert "solution" not in (tmp_path / "_student" / "start.ipynb").read_text("utf-8")
    lab.main([])
    assert "to see a solution" in (tmp_path / "_lab" / "start.ipynb").read_text("utf-8")
