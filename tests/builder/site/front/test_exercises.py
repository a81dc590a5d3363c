"""The page of exercises lists each of them once, as its source says; test_render.py follows its links."""

import re

import pytest
from bs4 import BeautifulSoup

from builder.site.front.exercises import exercises_of
from tests.targets import HTML, SOURCES


def test_law_every_exercise_of_a_chapter_is_listed_in_order():
    for chapter, path in SOURCES.items():
        source = path.read_text("utf-8")
        found = exercises_of(source, chapter)
        assert [one.label for one in found] == re.findall(r"^:label: (ex-\S+)$", source, re.MULTILINE)
        assert [one.number for one in found] == [f"{chapter}.{i}" for i in range(1, len(found) + 1)]
        assert all(one.title and one.kind and one.stars and 5 <= one.minutes <= 90 for one in found)


@pytest.mark.page
def test_law_the_page_lists_every_exercise():
    page = BeautifulSoup((HTML / "exercises.html").read_text(encoding="utf-8"), "html.parser")
    kinds, *tables = page.select("article table")
    found = [exercises_of(path.read_text("utf-8"), chapter) for chapter, path in SOURCES.items()]
    wanted = [one.number for several in found for one in several]
    assert [row.td.get_text() for table in tables for row in table.select("tbody tr")] == wanted
    assert sorted(link.get_text() for link in kinds.select("a")) == sorted(wanted)
