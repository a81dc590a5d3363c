"""Each statement of the syllabus links to an existing place, and no line of the notes is left out."""

import re

import pytest

from builder.site.front.statements import read_syllabus
from tests.targets import HTML, ROOT, faults, rendered_faults, words_in_a_row

ROWS = read_syllabus(ROOT)
PAGE = (ROOT / "chapters" / "syllabus.md").read_text("utf-8")


def numbers(lines: str) -> set[int]:
    found: set[int] = set()
    for part in lines.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def test_law_a_statement_leads_to_places_that_are_there_and_names_none_twice():
    for row in ROWS:
        assert row.says.endswith((".", "?")), row
        assert "|" not in row.says, row  # it would end the cell
        assert faults(row) == [], row
        assert len({(target.chapter, target.anchor) for target in row.shown}) == len(row.shown), row


def test_law_the_page_has_each_note_once_and_in_order():
    shown = re.findall(r"^```\{syllabus\} (\d)$", PAGE, re.MULTILINE)
    assert shown == sorted({str(row.note) for row in ROWS}) == list("12345")
    assert [row.note for row in ROWS] == sorted(row.note for row in ROWS)


@pytest.mark.page
def test_law_each_statement_of_the_rendered_page_leads_to_its_places():
    page = (HTML / "syllabus.html").read_text("utf-8")
    assert rendered_faults(page, ROWS, HTML) == []


# Compared with the notes.


def test_law_no_line_of_the_notes_is_left_out(notes: list[str]):
    assert len(notes) == 5
    for note, text in enumerate(notes, 1):
        covered = {number for row in ROWS if row.note == note for number in numbers(row.lines)}
        lines = text.splitlines()
        assert [n for n, line in enumerate(lines, 1) if line.strip() and n not in covered] == [], note
        assert max(covered) <= len(lines)


def test_law_no_statement_copies_the_notes(notes: list[str]):
    written = {run for note in notes for run in words_in_a_row(note)}
    assert [row.says for row in ROWS if words_in_a_row(row.says) & written] == []
