"""The index of figures and equations is complete; test_render.py follows its links."""

import re

import pytest
from bs4 import BeautifulSoup

from builder.figures import drawings, plain
from builder.site.front.indexes import marked_tests
from builder.source import read
from tests.targets import HTML, NOTEBOOKS, OFFERED, ROOT, SOURCES

TESTS = marked_tests(ROOT / "tests")


def test_law_every_figure_of_a_chapter_is_listed_once_and_in_order():
    for number, path in NOTEBOOKS.items():
        found = drawings(path)
        assert {one.anchor for one in found} == {n for n in OFFERED[number] if n.startswith("figure-")}
        assert [one.number for one in found] == [f"{number}.{i}" for i in range(1, len(found) + 1)]
        assert all(one.title.strip() and one.alt.strip() for one in found)


def test_law_every_labeled_equation_is_read_and_has_a_test():
    for path in SOURCES.values():
        labels = re.findall(r"^\$\$ \((eq-[a-z0-9-]+)\)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert [one.label for one in read(path).equations] == labels
        assert set(labels) <= TESTS.keys()
        assert all("$" not in one.formula.strip() != "" for one in read(path).equations)


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
    count = sum(len(read(path).equations) for path in SOURCES.values())
    assert len(equations.select("tbody tr")) == count
