"""A chapter's source, parsed once: its sections, exercises, figures, equations, claims, and entries.

(masking-blind)=                          a label, of the heading below it
## A section

$$ a = b $$ (eq-name)                     an equation

```{words} 3.6. Title                     a figure, by its words (`figure_words.py`)

```{exercise-start} Title                 an exercise, whose text ends at ```{exercise-end};
:label: ex-name                           below it, a cell with the tag `exercise`
:class: predict stars-1
```
```{solution-start} ex-name               its solution, to ```{solution-end}, has a cell with
```                                       the tag `solution`

# Handbook: masks                         the end of a chapter, on the site a page of its own
## Symptoms
### A number
**The loss is NaN** {whence}`run here`    an entry: a paragraph that begins in bold, with the texts below it,
                                          whose first line ends with whence it is
"""

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import jupytext
from docutils.nodes import make_id
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser
from nbformat import NotebookNode

from builder.chapters import KERNEL, PYTHON, front_matter, number

EXTENSIONS = {"colon_fence", "deflist", "dollarmath"}  # as in `_config.yml`
MARKDOWN = create_md_parser(MdParserConfig(enable_extensions=EXTENSIONS), RendererHTML)
KIND_OF = {  # of a token
    "heading_open": "heading",
    "myst_target": "label",
    "math_block_label": "equation",
    "math_block": "formula",
    "fence": "code",
    "inline": "text",
    "html_block": "html",
}
DIRECTIVE = re.compile(r"\{(?P<name>[\w-]+)\}\s*(?P<argument>.*)")
OPTION = re.compile(r"^:([\w-]+): *(.*)\n?", re.MULTILINE)
COMMENT = r"(?s:<!--.*?-->)"
INLINE = re.compile(
    rf"(?P<comment> {COMMENT}(?=[\s.,;:)]|\Z)|{COMMENT})|"  # no space is left before a comma
    r"\{(?P<role>[\w:-]+)\}`(?P<content>[^`]*)`"
    r"|(?P<code>(`+)(?!`).+?(?<!`)\5(?!`))"
    r"|(?P<math>\$\$.+?\$\$|\$(?:\\.|[^$\\])+\$)"
    r"|(?<!!)\[(?P<words>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]*)\)",
    re.DOTALL,
)
READING = re.compile(r"^(?=\*Reading: )", re.MULTILINE)
ENTRY = re.compile(
    r"\*\*(?P<title>.+?)\*\*(?P<line>[^\n]*?)(?: *\{whence\}`(?P<whence>[^`]*)`)?(?P<text>\n.*)?\Z", re.DOTALL
)
HANDBOOK = "# Handbook: "
SYMPTOMS = "Symptoms"
ENTRIES = (SYMPTOMS, "Why not", "Questions")  # the beginnings of the sections whose paragraphs are entries
WHENCES = ("run here", "read in its code", "documented", "from a paper", "derived", "experience")
SEEN = ("A message", "A shape", "A number", "A curve", "A text")  # the subsections of symptoms
KINDS = ("predict", "implement", "debug", "derive", "extend")
STARS = 3
READERS = {"exercise", "solution"}  # the tags of code that readers write
HIDDEN = {"hide-input", "remove-input", "hide-cell", "remove-cell"}  # of code that they do not see


class Block(NamedTuple):
    """A block of Markdown, and where it is in the text of its cell.

    Its `kind` is "heading", "label", "equation", "formula", "text", "html", "code", or the name of a
    directive; its `name` is its title, its label, or what follows the name of the directive.
    """

    kind: str
    name: str
    content: str
    text: str  # with its fences or marks
    start: int
    level: int = 0  # of a heading

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + len(self.text)

    @property
    def options(self) -> dict[str, str]:
        """The options of a directive."""
        return dict(OPTION.findall(self.content))


@cache
def blocks(text: str) -> tuple[Block, ...]:
    """Return the blocks of a Markdown text, in their order."""
    lines, result = text.splitlines(keepends=True), list[Block]()
    offsets, tokens = [0, *accumulate(map(len, lines))], MARKDOWN.parse(text)
    for token, following in zip_longest(tokens, tokens[1:]):
        first, end = token.map or (0, 0)
        start, kind, name, content, level = offsets[first], KIND_OF.get(token.type), "", token.content, 0
        match token.type:
            case "inline" if result and result[-1].start == start:
                kind = None  # the words of a heading, or another cell in the row of a table
            case "heading_open":
                name, level = following.content, int(token.tag[1:])
            case "myst_target":
                name = token.content
            case "math_block_label":
                name, content = token.info, token.content.strip()
            case "fence" | "colon_fence" if directive := DIRECTIVE.fullmatch(token.info.strip()):
                kind, name = directive.groups()
        if kind:
            result.append(Block(kind, name, content, "".join(lines[first:end]), start, level))
    return tuple(result)


class Part(NamedTuple):
    """A part of a chapter, prose of one section or a code cell, with the line where it begins."""

    section: str
    text: str
    line: int = 1
    code: bool = False
    tags: frozenset[str] = frozenset()
    claims: tuple[str, ...] = ()  # the names of those that a code cell makes
    handbook: bool = False

    @property
    def visible(self) -> bool:
        """Whether a reader of the page sees this code without a click."""
        return self.code and not self.tags & HIDDEN

    @property
    def checks(self) -> bool:
        """Whether this is a folded cell of checks."""
        return self.code and self.text.lstrip().startswith("# checks")


class Section(NamedTuple):
    """A section or subsection: its title, its labels, and its level, which is 1 for the chapter itself."""

    title: str
    label: str
    level: int

    @property
    def anchor(self) -> str:
        """The id that the site makes of its title."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


class Figure(NamedTuple):
    """The words of a figure: its number and title, and the text below, with places for values."""

    number: str
    title: str
    text: str

    @classmethod
    def read(cls, block: Block) -> "Figure":
        """Return the words in a block {words}."""
        number, _, title = block.name.partition(". ")
        return cls(number, title.strip(), block.content.strip())


class Equation(NamedTuple):
    """A labeled equation, as TeX, with its number."""

    label: str
    formula: str
    number: str


@dataclass
class Exercise:
    """An exercise: its number, text, kind and difficulty, and the code of its cell and of its solution."""

    label: str
    title: str
    number: str
    kind: str
    stars: int
    text: str = ""
    code: str = ""
    solution: str = ""

    @classmethod
    def read(cls, block: Block, place: str) -> "Exercise":
        """Return the exercise that a block begins, the one with this number."""
        options = block.options
        classes = options.get("class", "").split()
        kind = next((kind for kind in KINDS if kind in classes), "")
        stars = next((stars for stars in range(1, STARS + 1) if f"stars-{stars}" in classes), 0)
        return cls(options.get("label", ""), block.name.strip(), place, kind, stars)

    @property
    def heading(self) -> str:
        """The title with number, kind, and difficulty: "Exercise 3.1 · Implement ★★ · Title"."""
        level = f"{self.kind.capitalize()} {'★' * self.stars}".strip()
        return " · ".join(filter(None, (f"Exercise {self.number}", level, self.title)))

    @property
    def check(self) -> str:
        """The call that checks the answer, the last statement of its cell, which a draft may lack."""
        return "".join(map(ast.unparse, ast.parse(self.code).body[-1:]))


@dataclass
class Entry:
    """An entry of a handbook: its section and subsection, its title, its text, as Markdown, and whence it is.

    What was read may follow the kind, one of `WHENCES`: "read in its code: torch 2.13".
    """

    section: str
    kind: str
    title: str
    text: str
    whence: str = ""

    @property
    def anchor(self) -> str:
        """The id of the entry on its page."""
        return entry_id(re.sub(r"[`$*]", "", self.title))


class Source:
    """The source of a chapter, or of another page, with all that it defines, in its order."""

    def __init__(self, text: str, name: str = "") -> None:
        """Parse a text; `name` is that of its file."""
        notebook = parsed(text)
        self.name = name
        self.number = int(name[:2]) if name[:2].isdigit() else None  # of a chapter
        self.header: dict[str, Any] = dict(notebook.metadata)
        self.parts = list(_parts(text, notebook.cells))
        self.sections: list[Section] = []
        self.figures: list[Figure] = []
        self.equations: list[Equation] = []
        self.exercises: list[Exercise] = []
        self.entries: list[Entry] = []
        self.in_handbook: set[str] = set()  # anchors that lie on the page of the handbook
        self._label, self._start = "", 0  # of the next heading, and of the text of an exercise
        self._entry: Entry | None = None  # to which the next texts belong
        for part in self.parts:
            anchors = {f"claim-{name}" for name in part.claims}
            if not part.code:
                anchors |= {anchor for block in blocks(part.text) for anchor in self._read(block, part)}
            elif self.exercises and "exercise" in part.tags:
                self.exercises[-1].code = part.text
            elif self.exercises and "solution" in part.tags:
                self.exercises[-1].solution += f"{part.text}\n"
            self.in_handbook |= anchors if part.handbook else set()
        self.in_handbook |= {entry.anchor for entry in self.entries}

    def _read(self, block: Block, part: Part) -> Iterator[str]:
        """Add what a block defines, and yield its anchors."""
        if block.kind in ("label", "heading"):
            self._entry = None
        match block.kind:
            case "label":
                self._label = block.name
                yield block.name
            case "heading":
                self.sections.append(Section(block.name, self._label, block.level))
                self._label = ""
                if block.level > 1:
                    yield self.sections[-1].anchor
            case "equation":
                place = number(self.name, len(self.equations) + 1)
                self.equations.append(Equation(block.name, block.content, place))
            case "words":
                self.figures.append(Figure.read(block))
                anchor = self.figures[-1].number.replace(".", "-")
                yield from (f"figure-{anchor}", f"code-{anchor}")
            case "exercise-start":
                self._start, place = block.end, number(self.name, len(self.exercises) + 1)
                self.exercises.append(Exercise.read(block, place))
            case "exercise-end" if self.exercises:
                self.exercises[-1].text = part.text[self._start : block.start]
            case "text" if part.handbook and part.section.startswith(ENTRIES):
                if begins := ENTRY.match(block.text.strip()):
                    subsection = self.sections[-1].title if self.sections[-1].level > 2 else ""
                    title = " ".join(begins["title"].split())
                    text = f"{begins['line']}{begins['text'] or ''}".strip()
                    self._entry = Entry(part.section, subsection, title, text, begins["whence"] or "")
                    self.entries.append(self._entry)
                elif self._entry:
                    self._entry.text += f"\n{block.text}"

    @property
    def title(self) -> str:
        """The title of the page."""
        return next((section.title for section in self.sections), "")

    @property
    def topic(self) -> str:
        """The topic of the chapter's handbook, which a source may lack."""
        titles = (section.title for section in self.sections if section.title.startswith(HANDBOOK[2:]))
        return next(titles, "").partition(": ")[2]

    @property
    def prose(self) -> str:
        """The raw text of all prose."""
        return "\n\n".join(part.text for part in self.parts if not part.code)


@cache
def parsed(text: str) -> NotebookNode:
    """Return the notebook that the text of a source describes, to be read only."""
    return jupytext.reads(text, fmt="md:myst")


@cache
def parse(text: str, name: str = "") -> Source:
    """Return the source that a text is; `name` is that of its file."""
    return Source(text, name)


def read(path: Path) -> Source:
    """Return the source in a file."""
    return parse(path.read_text("utf-8"), path.name)


def notebook_of(path: Path) -> NotebookNode:
    """Return the notebook that a source describes; a cell's id is a digest of its text.

    So the id is stable when other cells change. The chapter's prerequisites stand before the line that says
    how long it takes.
    """
    notebook, seen = deepcopy(parsed(path.read_text("utf-8"))), Counter[str]()
    needed = front_matter(path).get("prerequisites")
    before = f"**Before this chapter:** {'; '.join(needed or [])}. "
    for cell in notebook.cells:
        if needed and cell.cell_type == "markdown":
            cell.source = READING.sub(lambda _: before, cell.source, count=1)
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:8]
        cell.id = f"{digest}-{seen[digest]}"
        seen[digest] += 1
    notebook.metadata = type(notebook)(kernelspec=KERNEL, language_info=PYTHON)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def divided(cells: Sequence[NotebookNode]) -> tuple[list[NotebookNode], list[NotebookNode]]:
    """Return the cells of a chapter, and those of its handbook, which a source may lack."""
    place = next((place for place, cell in enumerate(cells) if is_mark(cell)), len(cells))
    return list(cells[:place]), list(cells[place:])


def is_mark(cell: NotebookNode) -> bool:
    """Return whether the handbook begins with this cell."""
    return bool(cell.cell_type == "markdown" and cell.source.startswith(HANDBOOK))


def split_sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield the sections of a text, each with its title and its labels; the first may have no title."""
    title, start, label = "", 0, None
    for block in blocks(text):
        if block.kind == "heading" and block.level == 2:
            end = block.start if label is None else label
            yield title, text[start:end]
            title, start = block.name, end
        label = (block.start if label is None else label) if block.kind == "label" else None
    yield title, text[start:]


def _parts(text: str, cells: Sequence[NotebookNode]) -> Iterator[Part]:
    section, handbook, place = "", False, text.find("\n---", 3) + 4
    for cell in cells:
        start = text.find(cell.source, place)
        place = start if start >= 0 else place
        line, tags = text.count("\n", 0, place) + 1, frozenset(cell.metadata.get("tags", []))
        if cell.cell_type == "code":
            claims = tuple(cell.metadata.get("claims", ()))
            yield Part(section, cell.source, line, True, tags, claims, handbook)
            place += len(cell.source)
            continue
        if is_mark(cell):
            section, handbook = cell.source.partition("\n")[0].removeprefix("# "), True
        for title, piece in split_sections(cell.source):
            section = title or section
            if piece:
                yield Part(section, piece, line, False, tags, handbook=handbook)
            line += piece.count("\n")
        place += len(cell.source)


def entry_id(title: str) -> str:
    """Return the id of an entry with this title, whose apostrophes the site makes curly."""
    return make_id("asked " + re.sub("['’]", "", title))
