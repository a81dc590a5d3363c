"""The index of figures and equations is complete; test_render.py follows its links."""

import json
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from annotated_transformer.book.drawing.figures import figure_output, new_figure
from builder.figures import drawings, plain
from builder.site.front import indexes
from builder.site.front.indexes import equations_of, marked_tests
from tests.targets import HTML, NOTEBOOKS, OFFERED, ROOT, SOURCES

TESTS = marked_tests(ROOT / "tests")


def chapter(folder: Path, markdown: str, output: str) -> tuple[Path, Path]:
    """Write the source of a chapter and its notebook, with one output."""
    cell = {"cell_type": "code", "source": [], "outputs": [{"data": {"text/html": [output]}}]}
    source, notebook = folder / "chapters" / "src" / "made.md", folder / "made.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(markdown, encoding="utf-8")
    notebook.write_text(json.dumps({"cells": [cell]}), encoding="utf-8")
    return source, notebook


def drawn(number: str, title: str) -> str:
    words = {"alt": "An empty figure that shows nothing at all, in words enough.", "caption": "It is empty."}
    return str(figure_output(new_figure()[0], number=number, title=title, **words)._repr_html_())


def test_law_every_figure_of_a_chapter_is_listed_once_and_in_order():
    for number, path in NOTEBOOKS.items():
        found = drawings(path)
        assert {one.anchor for one in found} == {n for n in OFFERED[number] if n.startswith("figure-")}
        assert [one.number for one in found] == [f"{number}.{i}" for i in range(1, len(found) + 1)]
        assert all(one.title.strip() and one.alt.strip() for one in found)


def test_law_every_labeled_equation_is_listed_with_its_test():
    for path in SOURCES.values():
        found, source = equations_of(path, TESTS), path.read_text(encoding="utf-8")
        assert [one.label for one in found] == re.findall(r"^\$\$ \((eq-[a-z0-9-]+)\)$", source, re.MULTILINE)
        for one in found:
            assert one.formula.strip(), one
            assert "$" not in one.formula, one  # one formula, not the text between two
            assert one.tests, one


def test_law_equations_are_read_from_the_source_and_figures_from_the_notebook(tmp_path):
    text = "Text.\n\n$$\na = b\n$$\n\n$$\n|c| = d\n$$ (eq-one)\n"
    source, notebook = chapter(tmp_path, text, drawn("3.1", "x < y"))
    (one,) = drawings(notebook)
    assert (one.anchor, one.number, one.title) == ("figure-3-1", "3.1", "x < y")
    test = "tests/test_a.py", "test_it"
    assert equations_of(source, {"eq-one": [test]}) == [indexes.Equation("eq-one", "|c| = d", (test,))]


@pytest.mark.page
def test_law_the_page_shows_each_figure_and_lists_each_equation():
    page = BeautifulSoup((HTML / "indexes.html").read_text(encoding="utf-8"), "html.parser")
    (equations,) = page.select("article table")
    wanted = [one for path in NOTEBOOKS.values() for one in drawings(path)]
    for shot, one in zip(page.select("article .at-shot"), wanted, strict=True):
        assert shot.select_one("span").get_text() == one.number
        assert shot.a.get_text().partition(" ")[2] == one.title
        file = (HTML / shot.img["src"]).read_text("utf-8")  # which brings its fonts
        assert re.sub(r"<style>@font-face.*?</style>", "", file, flags=re.DOTALL) == plain(one.svg)
    count = sum(len(equations_of(path, TESTS)) for path in SOURCES.values())
    assert len(equations.select("tbody tr")) == count
