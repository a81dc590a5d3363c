"""What notes say, and where the book shows it: `{corrections} TOPIC` and `{syllabus} NOTE` render tables.

Their rows are in `chapters/corrections.yml` and `chapters/syllabus.yml`.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from annotated_transformer.book.front.chapters import Chapter

DATA = Path("chapters", "corrections.yml")
SYLLABUS = Path("chapters", "syllabus.yml")
KINDS = ("wrong", "misleading", "missing")
CLAIM = re.compile(r'id="(claim-[a-z0-9-]+)"></a>✓ (.*): \*\*.*\*\* \(claimed: ')
SHOWN = re.compile(r"(\d+)#([a-z0-9-]+)(?: (.+))?")


@dataclass(frozen=True)
class Place:
    """A place in a chapter; without a text, a link to it says what is there."""

    chapter: int
    anchor: str
    text: str = ""


@dataclass(frozen=True)
class Statement:
    """A statement of a note, in our words; the lines that say it; and where the book teaches it."""

    note: int
    lines: str
    says: str
    shown: tuple[Place, ...] = ()
    planned: int = 0


@dataclass(frozen=True)
class Correction:
    """A statement, in our words, that readers meet in notes; what is right; and where the book shows it."""

    number: int
    topic: str
    kind: str
    statement: str
    right: str
    shown: tuple[Place, ...] = ()
    planned: int = 0


def read_corrections(root: Path) -> list[Correction]:
    """Return the rows of the book in `root`, in the order of their numbers."""
    rows = yaml.safe_load((root / DATA).read_text(encoding="utf-8"))
    found = [Correction(**{**row, "shown": places(row.get("shown", ()))}) for row in rows]
    return sorted(found, key=lambda row: row.number)


def read_syllabus(root: Path) -> list[Statement]:
    """Return the statements of the notes, in the order of the file."""
    rows = yaml.safe_load((root / SYLLABUS).read_text(encoding="utf-8"))
    return [Statement(**{**row, "shown": places(row.get("shown", ()))}) for row in rows]


def places(texts: Sequence[str]) -> tuple[Place, ...]:
    """Read places such as `4#claim-mean`, with the link's text after them if it is not the default.

    Raises:
        ExtensionError: A text is no such place.
    """
    found = []
    for text in texts:
        match = SHOWN.fullmatch(text)
        if match is None:
            raise ExtensionError(
                f"{text!r} is no place; write CHAPTER#ANCHOR, and a text after it if you like"
            )
        found.append(Place(int(match[1]), match[2], match[3] or ""))
    return tuple(found)


def link(place: Place, chapters: dict[int, Chapter], root: Path) -> str:
    """Return a Markdown link to a place."""
    file, anchor = f"/{chapters[place.chapter].file}.ipynb", place.anchor
    if anchor.startswith("eq-"):
        return f"equation {{eq}}`{anchor}`"
    if anchor.startswith("ex-") and not place.text:
        return f"{{ref}}`{anchor}`"
    text = place.text
    if anchor.startswith("figure-"):
        text = text or "figure " + anchor.removeprefix("figure-").replace("-", ".")
    elif anchor.startswith("claim-"):
        text = text or claims(root / f"{chapters[place.chapter].file}.ipynb")[anchor]
    else:
        text = text or sections(root / f"{chapters[place.chapter].file}.ipynb").get(anchor, "")
    if not text:
        return f"{{ref}}`{anchor}`"  # a label, whose section has a title
    return f"[{text}]({file}#{anchor})"


@cache
def claims(notebook: Path) -> dict[str, str]:
    """Return the anchors of a notebook's claims, and what each measures."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    printed = "\n".join("".join(output.get("data", {}).get("text/markdown", "")) for output in outputs)
    return dict(CLAIM.findall(printed))


@cache
def sections(notebook: Path) -> dict[str, str]:
    """Return the anchors that a notebook's sections have by their titles, and the titles."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    written = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    titles = re.findall(r"^##+ (.+)$", written, re.MULTILINE)
    return {re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-"): title for title in titles}


def shown_in(row: Correction | Statement, chapters: dict[int, Chapter], root: Path) -> str:
    """Return the links of a row by chapter: "Chapter 4: … · …"."""
    parts = []
    for number in dict.fromkeys(place.chapter for place in row.shown):
        links = [link(place, chapters, root) for place in row.shown if place.chapter == number]
        parts.append(f"Chapter {number}: {'; '.join(links)}")
    if row.planned:
        parts.append(f"{chapters[row.planned].title} (chapter {row.planned}, planned)")
    return ". ".join(parts) + "."


def table(rows: Sequence[Correction], chapters: dict[int, Chapter], root: Path) -> str:
    """Return rows as a Markdown table."""
    head = "| A statement from notes | What is right | See for yourself |\n| --- | --- | --- |\n"
    return head + "".join(
        f"| {row.number}. {row.statement} (*{row.kind}*) | {row.right} | {shown_in(row, chapters, root)} |\n"
        for row in rows
    )


def syllabus_table(rows: Sequence[Statement], chapters: dict[int, Chapter], root: Path) -> str:
    """Return statements as a Markdown table."""
    head = "| What it says | Where it went |\n| --- | --- |\n"
    return head + "".join(f"| {row.says} | {shown_in(row, chapters, root)} |\n" for row in rows)


class Corrections(SphinxDirective):
    """`{corrections} TOPIC`: the rows of a topic."""

    required_arguments = 1
    data = DATA

    def run(self) -> list[nodes.Node]:
        """Return the table, and name the files that it is made from."""
        root = Path(self.env.srcdir)
        chapters = {chapter.number: chapter for chapter in self.config.at_chapters}
        self.env.note_dependency(str(root / self.data))
        for chapter in chapters.values():
            if chapter.file:
                self.env.note_dependency(str(root / f"{chapter.file}.ipynb"))
        return self.parse_text_to_nodes(self.text(chapters, root))

    def text(self, chapters: dict[int, Chapter], root: Path) -> str:
        """Return the table as Markdown."""
        rows = [row for row in read_corrections(root) if row.topic == self.arguments[0]]
        return table(rows, chapters, root)


class Syllabus(Corrections):
    """`{syllabus} NOTE`: the statements of a note, by its number."""

    data = SYLLABUS

    def text(self, chapters: dict[int, Chapter], root: Path) -> str:
        """Return the table as Markdown."""
        rows = [row for row in read_syllabus(root) if str(row.note) == self.arguments[0]]
        return syllabus_table(rows, chapters, root)
