"""Statements of the notes that the book began with, and where they went: `{syllabus} NOTE` renders a table.

Its rows are in `chapters/syllabus.yml`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.chapters import Chapter
from builder.site.front.targets import Target, TargetTable, link_all, read_targets, rows_in

DATA = Path("chapters", "syllabus.yml")
HEAD = "| What it says | Where it went |\n| --- | --- |\n"


@dataclass(frozen=True)
class Statement:
    """A statement of a note, in our words; its lines in the note; and where the book teaches it."""

    note: int
    lines: str
    says: str
    shown: tuple[Target, ...] = ()
    planned: int = 0


def read_syllabus(root: Path) -> list[Statement]:
    """Return the statements of the notes, in the order of the file."""
    rows = rows_in((root / DATA).read_text(encoding="utf-8"))
    return [Statement(**{**row, "shown": read_targets(row.get("shown", ()))}) for row in rows]


def syllabus_table(rows: Sequence[Statement], chapters: dict[int, Chapter], root: Path) -> str:
    """Return statements as a Markdown table."""
    return HEAD + "".join(
        f"| {row.says} | {link_all(row.shown, chapters, root, planned=row.planned)} |\n" for row in rows
    )


class Syllabus(TargetTable):
    """`{syllabus} NOTE`: the statements of a note, by its number."""

    data = DATA

    def text(self, chapters: dict[int, Chapter], root: Path) -> str:
        """Return the table as Markdown."""
        rows = [row for row in read_syllabus(root) if str(row.note) == self.arguments[0]]
        return syllabus_table(rows, chapters, root)
