"""The index of figures and equations is complete; test_render.py follows its links."""

import re

import pytest
from bs4 import BeautifulSoup

from builder.figures import drawings, plain
from builder.site.front import indexes
from builder.site.front.indexes import equations_of, marked_tests
from tests.targets import HTML, NOTEBOOKS, OFFERED, ROOT, SOURCES

TESTS = marked_tests(ROOT / "tests")


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


def test_law_equations_with_a_label_are_read_from_the_source(tmp_path):
    source, test = tmp_path / "made.md", ("tests/test_a.py", "test_it")
    source.write_text("Text.\n\n$$\na = b\n$$\n\n$$\n|c| = d\n$$ (eq-one)\n", encoding="utf-8")
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
