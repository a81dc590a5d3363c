"""What the builder promises: the same bytes, nothing of this machine, a stop where a chapter misbehaves."""

import json
import re

import pytest

HEADER = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {display_name: Python 3, language: python, name: python3}
---

# A chapter
"""


def chapter(copy, *cells, name="01_one"):
    blocks = [f"```{{code-cell}} ipython3\n{cell}\n```\n" for cell in cells]
    (copy / "chapters" / "src" / f"{name}.md").write_text("\n".join([HEADER, *blocks]))
    return copy / "chapters" / f"{name}.ipynb"


def test_law_two_builds_give_the_same_bytes_and_keep_what_nbval_compares(copy, build):
    notebook = chapter(
        copy, "'a' * 3", "'a' * 3", ":tags: [raises-exception]\n\n1 / 0", "print({'b', 'c'} >= {'b'})"
    )
    assert build().returncode == 0
    first = notebook.read_bytes()
    result = build("01_one")
    assert "built 01_one.ipynb" in result.stdout
    assert notebook.read_bytes() == first
    cells = [cell for cell in json.loads(first)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == [1, 2, 3, 4]
    assert len({cell["id"] for cell in cells}) == 4
    assert cells[0]["outputs"][0]["data"]["text/plain"] == ["'aaa'"]
    assert cells[2]["outputs"][0]["traceback"] == ["ZeroDivisionError: division by zero"]
    assert all("execution" not in cell["metadata"] for cell in cells)
    assert not list(copy.rglob("*.new"))


def test_law_only_what_changed_is_executed_again(copy, build):
    one, two = chapter(copy, "1"), chapter(copy, "2", name="02_two")
    assert build().stdout == "built 01_one.ipynb\nbuilt 02_two.ipynb\n"
    assert build().stdout == ""
    chapter(copy, "3")
    assert build().stdout == "built 01_one.ipynb\n"
    two.write_text(two.read_text().replace('"2"', '"4"'))  # edited by hand: the builder undoes it
    assert build().stdout == "built 02_two.ipynb\n"
    config = copy / "annotated_transformer" / "config.py"
    config.write_text(config.read_text() + "# changed\n")
    assert build().stdout == "built 01_one.ipynb\nbuilt 02_two.ipynb\n"
    assert one.exists()


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("object()", "prints ' at 0x"),
        ("import warnings\nwarnings.warn('look out')", "a cell warns: .*look out"),
        ("import sys\nsys.prefix", "prints '/"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("assert 1 > 2, 'a false claim'", "AssertionError: a false claim"),
    ],
)
def test_law_a_chapter_that_misbehaves_leaves_the_old_notebook(copy, build, cell, sentence):
    notebook = chapter(copy, cell)
    notebook.write_text("old")
    result = build()
    assert result.returncode == 1
    assert re.search(sentence, result.stdout, re.DOTALL)
    assert notebook.read_text() == "old"


def test_law_a_widgets_random_output_is_not_stored(copy, build):
    notebook = chapter(copy, ":tags: [remove-output, nbval-ignore-output]\n\nobject()")
    assert build().returncode == 0
    assert json.loads(notebook.read_text())["cells"][1]["outputs"] == []


def test_message_no_chapter_of_that_name(copy, build):
    chapter(copy, "1")
    assert "no chapter is called 09_nine; there are 01_one" in build("09_nine").stdout


def test_message_a_notebook_or_a_source_alone(copy, build):
    notebook = chapter(copy, "1")
    assert "01_one: 01_one.ipynb is missing" in build("--check").stdout
    assert build().returncode == 0
    assert build("--check").returncode == 0
    (copy / "chapters" / "src" / "01_one.md").unlink()
    result = build("--check")
    assert result.returncode == 1
    assert "01_one: 01_one.md is missing" in result.stdout
    assert "then: make chapters" in result.stdout
    assert notebook.exists()
