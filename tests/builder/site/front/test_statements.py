"""The corrections and the syllabus link to existing places, and take neither less nor more from the notes."""

import re
from collections import Counter

import pytest

from builder.site.front.statements import KINDS, read_corrections, read_syllabus
from builder.source import read
from tests.targets import CHAPTERS, OFFERED, ROOT, words_in_a_row

CORRECTIONS, SYLLABUS = read_corrections(ROOT), read_syllabus(ROOT)
PAGES = {name: (ROOT / "chapters" / f"{name}.md").read_text("utf-8") for name in ("corrections", "syllabus")}
TOPICS = re.findall(r"^```\{corrections\} (\S+)$", PAGES["corrections"], re.MULTILINE)


@pytest.mark.parametrize("rows", [CORRECTIONS, SYLLABUS], ids=PAGES)
def test_law_a_row_leads_to_places_that_are_there_and_names_none_twice(rows):
    for row in rows:
        places = {(target.chapter, target.anchor) for target in row.shown}
        assert 0 < len(places) == len(row.shown), row
        assert [place for place in places if place[1] not in OFFERED.get(place[0], ())] == [], row


def test_law_each_of_the_66_corrections_has_a_row_of_sentences():
    assert [row.number for row in CORRECTIONS] == list(range(1, 67))
    assert len({row.statement for row in CORRECTIONS}) == len({row.right for row in CORRECTIONS}) == 66
    for row in CORRECTIONS:
        assert row.kind in KINDS, row
        assert row.statement.endswith("."), row
        assert row.right.endswith((".", ")")), row
        assert 1 <= len(re.findall(r"[.?](?= |$)", row.right)) <= 4, row
        assert "|" not in row.statement + row.right, row  # it would end the cell
    for row in SYLLABUS:
        assert row.says.endswith((".", "?")), row
        assert "|" not in row.says, row


def test_law_a_page_has_each_topic_or_note_once():
    assert Counter(TOPICS) == Counter({row.topic for row in CORRECTIONS})
    assert re.findall(r"^\(notes-([a-z-]+)\)=\n## ", PAGES["corrections"], re.MULTILINE) == TOPICS
    assert f"{len(CORRECTIONS)} statements" in PAGES["corrections"]
    notes = re.findall(r"^```\{syllabus\} (\d)$", PAGES["syllabus"], re.MULTILINE)
    assert notes == sorted({str(row.note) for row in SYLLABUS}) == list("12345")
    assert [row.note for row in SYLLABUS] == sorted(row.note for row in SYLLABUS)


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


# Compared with the chapters.


def linked_topics(number: int) -> set[str]:
    mistakes = [part.text for part in read(CHAPTERS[number].path).parts if part.section == "Common mistakes"]
    return set(re.findall(r"\]\(corrections\.md#notes-([a-z-]+)\)", "\n".join(mistakes)))


LINKED = {number: linked_topics(number) for number in CHAPTERS}


def test_law_a_chapter_links_its_topics_in_the_appendix():
    for number, linked in LINKED.items():
        groups = {row.topic for row in CORRECTIONS for target in row.shown if target.chapter == number}
        assert linked or not groups, (
            f"chapter {number}: end Common mistakes with “See also [what notes get wrong about …]"
            f"(corrections.md#notes-TOPIC), in the appendix.”, where TOPIC is one of {sorted(groups)}"
        )
        assert linked <= groups, number


def test_law_a_row_is_linked_from_a_chapter_that_shows_it():
    for row in CORRECTIONS:
        chapters = {target.chapter for target in row.shown}
        linking = {number for number in chapters if row.topic in LINKED[number]}
        assert linking, f"none of the chapters {sorted(chapters)} links the group {row.topic}"


# Compared with the notes.


def numbers(lines: str) -> set[int]:
    covered: set[int] = set()
    for part in lines.split(","):
        first, _, last = part.partition("-")
        covered |= set(range(int(first), int(last or first) + 1))
    return covered


def test_law_no_line_of_the_notes_is_left_out(notes: list[str]):
    assert len(notes) == 5
    for note, text in enumerate(notes, 1):
        covered = {number for row in SYLLABUS if row.note == note for number in numbers(row.lines)}
        lines = text.splitlines()
        assert [n for n, line in enumerate(lines, 1) if line.strip() and n not in covered] == [], note
        assert max(covered) <= len(lines)


def test_law_no_row_copies_the_notes(notes: list[str]):
    assert words_in_a_row("One: two three four five six") & words_in_a_row("one two $x$ three four five six")
    written = {run for note in notes for run in words_in_a_row(note)}
    assert len(written) > 1000
    texts = [f"{row.statement}\n{row.right}" for row in CORRECTIONS] + [row.says for row in SYLLABUS]
    assert [text for text in texts if words_in_a_row(text) & written] == []
