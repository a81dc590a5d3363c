"""The page of exercises lists each of them once, as its source says; test_render.py follows its links."""

import re

import pytest
from bs4 import BeautifulSoup

from builder.site.front.exercises import minutes
from builder.source import read
from tests.targets import HTML, SOURCES


def test_law_every_exercise_of_a_chapter_is_listed_in_order():
    for chapter, path in SOURCES.items():
        labels = re.findall(r"^:label: (ex-\S+)$", path.read_text("utf-8"), re.MULTILINE)
        found = read(path).exercises
        assert [one.label for one in found] == labels
        assert [one.number for one in found] == [f"{chapter}.{i}" for i in range(1, len(found) + 1)]
        assert all(one.title and one.kind and one.stars and 5 <= minutes(one) <= 90 for one in found)


@pytest.mark.page
def test_law_the_page_lists_every_exercise():
    page = BeautifulSoup((HTML / "exercises.html").read_text(encoding="utf-8"), "html.parser")
    kinds, *tables = page.select("article table")
    numbers = [one.number for path in SOURCES.values() for one in read(path).exercises]
    assert [row.td.get_text() for table in tables for row in table.select("tbody tr")] == numbers
    assert sorted(link.get_text() for link in kinds.select("a")) == sorted(numbers)
