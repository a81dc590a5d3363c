"""The appendix of corrections has 66 rows, which link to the chapters and are linked from them."""

import re
from collections import Counter

import pytest

from builder.chapters import source_of
from builder.site.front.statements import KINDS, read_corrections
from tests.targets import CHAPTERS, HTML, ROOT, faults, rendered_faults, words_in_a_row

ROWS = read_corrections(ROOT)
PAGE = (ROOT / "chapters" / "corrections.md").read_text("utf-8")
TOPICS = re.findall(r"^```\{corrections\} (\S+)$", PAGE, re.MULTILINE)


def test_law_each_of_the_66_has_a_row():
    assert [row.number for row in ROWS] == list(range(1, 67))
    assert len({row.statement for row in ROWS}) == len({row.right for row in ROWS}) == 66


def test_law_a_row_states_the_correction_and_links_to_existing_places():
    for row in ROWS:
        assert row.kind in KINDS, row
        assert row.statement.endswith("."), row
        assert row.right.endswith((".", ")")), row
        assert 1 <= len(re.findall(r"[.?](?= |$)", row.right)) <= 4, row
        assert "|" not in row.statement + row.right, row  # it would end the cell
        assert faults(row) == [], row


def test_law_the_page_has_each_topic_once():
    assert Counter(TOPICS) == Counter({row.topic for row in ROWS})
    assert re.findall(r"^\(notes-([a-z-]+)\)=\n## ", PAGE, re.MULTILINE) == TOPICS
    assert f"{len(ROWS)} statements" in PAGE
    assert "chapters/corrections" in (ROOT / "_toc.yml").read_text("utf-8")


# The page, rendered.


def test_law_a_topic_renders_as_a_table_with_links(small_book: dict[str, str]):
    page = small_book["chapters/corrections.html"]
    links = re.findall(r'href="(01_looking\.html#[^"]+)"[^>]*>(.*?)</a>', page)
    assert [(link, re.sub("<[^>]+>", "", text)) for link, text in links] == [
        ("01_looking.html#equation-eq-star", "(1)"),
        ("01_looking.html#claim-moves", "a star, moved"),
        ("01_looking.html#figure-1-1", "a map"),
        ("01_looking.html#equation-eq-star", "(1)"),
    ]
    assert page.count("<tr") == 3  # the header, and two rows
    assert page.index("They burn.") < page.index("They move by")
    assert "A moon." not in page


@pytest.mark.page
def test_law_each_row_of_the_rendered_page_leads_to_its_places():
    page = (HTML / "corrections.html").read_text("utf-8")
    assert rendered_faults(page, sorted(ROWS, key=lambda row: TOPICS.index(row.topic)), HTML) == []


# Compared with the chapters.


def linked_topics(name: str) -> set[str]:
    mistakes = source_of(ROOT, name).read_text("utf-8").partition("\n## Common mistakes\n")[2]
    return set(re.findall(r"\]\(corrections\.md#notes-([a-z-]+)\)", mistakes.partition("\n## ")[0]))


LINKED = {number: linked_topics(chapter.name) for number, chapter in CHAPTERS.items()}


def test_law_a_chapter_links_its_topics_in_the_appendix():
    for number, linked in LINKED.items():
        groups = {row.topic for row in ROWS for target in row.shown if target.chapter == number}
        assert linked or not groups, (
            f"chapter {number}: end Common mistakes with “See also [what notes get wrong about …]"
            f"(corrections.md#notes-TOPIC), in the appendix.”, where TOPIC is one of {sorted(groups)}"
        )
        assert linked <= groups, number


def test_law_a_row_is_linked_from_a_chapter_that_shows_it():
    for row in ROWS:
        chapters = {target.chapter for target in row.shown}
        linking = {number for number in chapters if row.topic in LINKED[number]}
        assert linking, f"none of the chapters {sorted(chapters)} links the group {row.topic}"


# Compared with the notes.


def test_law_no_row_copies_the_notes(notes: list[str]):
    assert words_in_a_row("One: two three four five six") & words_in_a_row("one two $x$ three four five six")
    written = {run for note in notes for run in words_in_a_row(note)}
    assert len(written) > 1000
    copied = {row.number: words_in_a_row(f"{row.statement}\n{row.right}") & written for row in ROWS}
    assert {number: found for number, found in copied.items() if found} == {}
