"""Tables of statements and where the book shows them: `{corrections} TOPIC` and `{syllabus} NOTE`.

Statements that notes get wrong are in `chapters/corrections.yml`, those of the notes that the book began with
in `chapters/syllabus.yml`.
"""

from dataclasses import dataclass
from pathlib import Path

from builder.chapters import Chapter
from builder.site.front.targets import Target, TargetTable, link_all, rows_in

CORRECTIONS, SYLLABUS = Path("chapters", "corrections.yml"), Path("chapters", "syllabus.yml")
KINDS = ("wrong", "misleading", "missing")


@dataclass(frozen=True)
class Correction:
    """A statement, in our words, that readers meet in notes; what is right; and where the book shows it."""

    number: int
    topic: str
    kind: str
    statement: str
    right: str
    shown: tuple[Target, ...]


@dataclass(frozen=True)
class Statement:
    """A statement of a note, in our words; its lines in the note; and where the book teaches it."""

    note: int
    lines: str
    says: str
    shown: tuple[Target, ...]


def read_corrections(root: Path) -> list[Correction]:
    """Return the corrections of the book in `root`, in the order of their numbers."""
    rows = rows_in(root / CORRECTIONS)
    return sorted((Correction(**row) for row in rows), key=lambda row: row.number)


def read_syllabus(root: Path) -> list[Statement]:
    """Return the statements of the notes, in the order of the file."""
    return [Statement(**row) for row in rows_in(root / SYLLABUS)]


class Corrections(TargetTable):
    """`{corrections} TOPIC`: the corrections of a topic."""

    data = CORRECTIONS

    def text(self, chapters: dict[int, Chapter]) -> str:
        """Return the table as Markdown."""
        lines = ["| A statement from notes | What is right | See for yourself |", "| --- | --- | --- |"]
        for row in read_corrections(Path(self.env.srcdir)):
            if row.topic == self.arguments[0]:
                links = link_all(row.shown, chapters)
                lines.append(f"| {row.statement} (*{row.kind}*) | {row.right} | {links} |")
        return "\n".join(lines)


class Syllabus(TargetTable):
    """`{syllabus} NOTE`: the statements of a note, by its number."""

    data = SYLLABUS

    def text(self, chapters: dict[int, Chapter]) -> str:
        """Return the table as Markdown."""
        lines = ["| What it says | Where it went |", "| --- | --- |"]
        for row in read_syllabus(Path(self.env.srcdir)):
            if str(row.note) == self.arguments[0]:
                lines.append(f"| {row.says} | {link_all(row.shown, chapters)} |")
        return "\n".join(lines)
