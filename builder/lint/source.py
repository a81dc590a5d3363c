"""Parse a chapter's source: its front matter, and its prose and code in reading order."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from builder.chapters import parsed
from builder.reader import HIDDEN

READERS = {"exercise", "solution"}  # readers write this code
CHECKS = "# checks"  # the first line of a folded cell of asserts

FENCE = re.compile(r"^\s*(`{3,}|:{3,}|~{3,})\s*(\{[\w-]+\})?")
CODE_BLOCKS = {"{code-block}", "{code}", "{math}"}
NOT_PROSE = re.compile(
    r"<!--.*?-->"  # a comment
    r"|\{(?:cite|doc|ref|eq|numref)[\w:]*\}`[^`]*`"  # a reference; its text is a title or an author
    r"|(`+)(?!`).+?(?<!`)\1(?!`)"  # code
    r"|(?<=\])\([^)\s]*\)"  # the target of a link
    r"|<https?://[^>]*>|https?://[^\s)>]+"
    r"|</?[a-z][^>]*>",  # an HTML tag
    re.DOTALL,
)
MATH = re.compile(r"\$\$.+?\$\$(?:\s*\([\w-]+\))?|\$(?:\\.|[^$\\])+\$", re.DOTALL)
SENTENCE = re.compile(r"(?<=[.!?:])[*\"”)\]]*\s+(?=[A-Z*“\"\[$`])")


class Part(NamedTuple):
    """A part of a chapter, prose or a code cell, with its section and line number."""

    section: str
    text: str
    line: int = 1
    code: bool = False
    tags: frozenset[str] = frozenset()
    claims: tuple[str, ...] = ()  # the names of those that a code cell makes

    @property
    def visible(self) -> bool:
        """Whether a reader of the page sees this code without a click."""
        return self.code and not self.tags & HIDDEN

    @property
    def checks(self) -> bool:
        """Whether this is a folded cell of asserts."""
        return self.code and self.text.lstrip().startswith(CHECKS)


class Paragraph(NamedTuple):
    """The raw text of a paragraph, list item, or table row, and the index of its part."""

    text: str
    line: int
    part: int


class Source(NamedTuple):
    """A source: the number in its file name (None for a guide), its front matter, and its parts."""

    number: int | None
    header: dict[str, Any]
    parts: list[Part]

    @property
    def prose(self) -> str:
        """The raw text of all prose."""
        return "\n\n".join(part.text for part in self.parts if not part.code)

    def paragraphs(self) -> Iterator[Paragraph]:
        """Return the paragraphs of the prose, without blocks of code."""
        for index, part in enumerate(self.parts):
            if not part.code:
                for text, line in _paragraphs(part.text):
                    yield Paragraph(text, part.line + line, index)


def parse_source(text: str, name: str = "") -> Source:
    """Parse a source; `name` is its file name."""
    notebook = parsed(text)
    number = int(name[:2]) if name[:2].isdigit() else None
    return Source(number, dict(notebook.metadata), list(_parts(text, notebook.cells)))


def parse_file(path: Path) -> Source:
    """Parse a source file."""
    return parse_source(path.read_text("utf-8"), path.name)


def blank(text: str, *, math: bool) -> str:
    """Replace everything but prose with spaces, also formulas if `math`; the length stays the same."""

    def spaces(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    text = NOT_PROSE.sub(spaces, text)
    return MATH.sub(spaces, text) if math else text


def sentences(text: str) -> Iterator[tuple[str, int]]:
    """Return each sentence of a paragraph and its offset."""
    start = 0
    for gap in SENTENCE.finditer(text):
        yield text[start : gap.end()], start
        start = gap.end()
    yield text[start:], start


def _parts(text: str, cells: list[Any]) -> Iterator[Part]:
    section, place = "", text.find("\n---", 3) + 4
    for cell in cells:
        start = text.find(cell.source, place)
        place = start if start >= 0 else place
        line, tags = text.count("\n", 0, place) + 1, frozenset(cell.metadata.get("tags", []))
        if cell.cell_type == "code":
            claims = tuple(cell.metadata.get("claims", ()))
            yield Part(section, cell.source, line, True, tags, claims)
        else:
            for piece in re.split(r"^(?=## |# Handbook: )", cell.source, flags=re.MULTILINE):
                if piece.startswith(("## ", "# Handbook: ")):
                    section = piece.splitlines()[0].lstrip("# ")
                yield Part(section, piece, line, False, tags)
                line += piece.count("\n")
        place += len(cell.source)


def _paragraphs(text: str) -> Iterator[tuple[str, int]]:
    lines, fences, options = [], list[tuple[str, bool]](), False
    for line in text.splitlines():
        fence = FENCE.match(line)
        if fence and fences and not fence[2] and line.strip() == fences[-1][0]:
            fences.pop()
            line = ""
        elif fence and not (fences and not fences[-1][1]):
            options = bool(fence[2]) and fence[2] not in CODE_BLOCKS
            fences.append((fence[1], options))
            line = ""
        elif fences and not fences[-1][1]:
            line = ""  # a block of code
        elif options and re.match(r"\s*:[\w-]+:", line):
            line = ""
        else:
            options = False
        lines.append(line)
    held: list[str] = []
    first = 0
    for number, line in enumerate([*lines, ""]):
        begins = re.match(r"\s*([-*+]|\d+\.)\s|\||#", line)
        if held and (begins or not line.strip() or held[0].startswith("#")):
            yield "\n".join(held), first
            held = []
        if line.strip():
            first = first if held else number
            held.append(line)
