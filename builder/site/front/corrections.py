"""Statements that notes get wrong, and where the book shows it: `{corrections} TOPIC` renders a table.

Its rows are in `chapters/corrections.yml`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from builder.chapters import Chapter
from builder.site.front.targets import Target, TargetTable, link_all, read_targets, rows_in

DATA = Path("chapters", "corrections.yml")
KINDS = ("wrong", "misleading", "missing")
HEAD = "| A statement from notes | What is right | See for yourself |\n| --- | --- | --- |\n"


@dataclass(frozen=True)
class Correction:
    """A statement, in our words, that readers meet in notes; what is right; and where the book shows it."""

    number: int
    topic: str
    kind: str
    statement: str
    right: str
    shown: tuple[Target, ...] = ()
    planned: int = 0


def read_corrections(root: Path) -> list[Correction]:
    """Return the rows of the book in `root`, in the order of their numbers."""
    rows = rows_in((root / DATA).read_text(encoding="utf-8"))
    corrections = [Correction(**{**row, "shown": read_targets(row.get("shown", ()))}) for row in rows]
    return sorted(corrections, key=lambda row: row.number)


def correction_table(rows: Sequence[Correction], chapters: dict[int, Chapter], root: Path) -> str:
    """Return rows as a Markdown table."""
    return HEAD + "".join(
        f"| {row.statement} (*{row.kind}*) | {row.right} "
        f"| {link_all(row.shown, chapters, root, planned=row.planned)} |\n"
        for row in rows
    )


class Corrections(TargetTable):
    """`{corrections} TOPIC`: the rows of a topic."""

    data = DATA

    def text(self, chapters: dict[int, Chapter], root: Path) -> str:
        """Return the table as Markdown."""
        rows = [row for row in read_corrections(root) if row.topic == self.arguments[0]]
        return correction_table(rows, chapters, root)
