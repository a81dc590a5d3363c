"""The syllabus: each statement leads to a place that is there, and no line of the notes is left out."""

import re

import pytest

from annotated_transformer.book.front.corrections import Statement, places, read_syllabus, syllabus_table
from tests.book.test_corrections import CHAPTERS, NOTES, ROOT, faults, runs

ROWS = read_syllabus(ROOT)
IDS = [f"note-{row.note}-line-{row.lines}" for row in ROWS]


def numbers(lines: str) -> set[int]:
    """Return the numbers of lines such as "3,5-7"."""
    found: set[int] = set()
    for part in lines.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def left_out(text: str, rows: list[Statement]) -> list[int]:
    """Return the lines of a note that no statement covers."""
    covered = {number for row in rows for number in numbers(row.lines)}
    return [n for n, line in enumerate(text.splitlines(), 1) if line.strip() and n not in covered]


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_law_a_statement_leads_to_a_place_that_is_there(row):
    assert row.says.endswith((".", "?"))
    assert "|" not in row.says  # it would end the cell
    assert faults(row) == []


def test_law_a_place_that_is_not_there_is_found():
    assert faults(Statement(1, "1", "A.")) == ["neither shown nor planned"]
    assert len(faults(Statement(1, "1", "A.", places(["4#no-such-section"])))) == 1


def test_law_the_page_has_each_note_once():
    page = (ROOT / "chapters" / "syllabus.md").read_text("utf-8")
    shown = re.findall(r"^```\{syllabus\} (\d)$", page, re.MULTILINE)
    assert shown == sorted({str(row.note) for row in ROWS}) == list("12345")


def test_law_a_table_has_a_line_for_each_statement_and_names_sections():
    rows = [
        Statement(1, "1", "A.", places(["8#an-offset-is-a-rotation"])),
        Statement(1, "2", "B.", planned=99),
    ]
    *_, one, other = syllabus_table(rows, {**CHAPTERS, 99: CHAPTERS[1]}, ROOT).splitlines()
    link = "[An offset is a rotation](/chapters/08_positional_encoding.ipynb#an-offset-is-a-rotation)"
    assert one == f"| A. | Chapter 8: {link}. |"
    assert other == "| B. | Why attention (chapter 99, planned). |"


def test_law_no_line_of_the_notes_is_left_out_and_none_is_copied():
    assert left_out("a\n\nb\nc\n", [Statement(1, "1,4", "A.")]) == [3]
    assert numbers("1,4-6") == {1, 4, 5, 6}
    if not NOTES.is_dir():
        return  # a clone does not have them
    files = sorted(NOTES.glob("*.txt"))
    assert len(files) == 5
    for note, file in enumerate(files, 1):
        text = file.read_text("utf-8")
        rows = [row for row in ROWS if row.note == note]
        assert left_out(text, rows) == [], file.name
        assert max(number for row in rows for number in numbers(row.lines)) <= len(text.splitlines())
    notes = {run for file in files for run in runs(file.read_text("utf-8"))}
    assert [row.says for row in ROWS if runs(row.says) & notes] == []
