"""The code cells of a chapter: short, narrow, separated by prose; what makes its numbers is in sight."""

import ast
import re
from collections.abc import Iterator
from typing import Any

from builder.claim_values import parse_cell
from builder.source import COMMENT, READERS, Part, Source, split_sections

LIVE = {"remove-cell", "nbval-ignore-output"}  # interactive in JupyterLab only
LINES, COLUMNS = 14, 88
FOLDED, TOGETHER, FIGURES = 100, 230, 9  # lines before the exercises, and figures
WORDS = 7500  # of a handbook
TABLE = re.compile(r"^\|.+\|\s*\n\|[\s:|-]+\|\s*\n\|", re.MULTILINE)  # with a row below its head
ROW = re.compile(r"\s*\|")  # of a table that a cell prints; Markdown cannot wrap it


def cells(chapter: Source) -> Iterator[str]:
    """Check that each code cell is short, narrow, separated by prose, and tagged if live."""
    for before, part in zip([None, *chapter.parts], chapter.parts, strict=False):
        if not part.code:
            continue
        name = repr(part.text.strip().splitlines()[0]) if part.text.strip() else "an empty cell"
        if re.search(r"^[!%]|filterwarnings|simplefilter", part.text, re.MULTILINE):
            yield f"{name}: no shell, no magic, no silenced warning"
            continue
        for line in part.text.splitlines():
            if len(line) > COLUMNS and not ROW.match(line):
                yield f"{name}: a line of {len(line)} columns, more than {COLUMNS}: {line.strip()[:40]}"
        lines = length(part.text)
        if part.visible and not part.tags & READERS and lines > LINES:
            yield f"{name}: {lines} lines, more than {LINES}; split or fold it"
        for node in parse_cell(part.text).body[:-1]:
            if (text := ast.unparse(node)).startswith("show_"):
                yield f"{name}: only a cell's last expression is displayed; move {text[:30]} to its end"
        if part.checks and "hide-cell" not in part.tags:
            yield f"{name}: a cell of checks must be tagged hide-cell"
        if re.search(r"^explore\(", part.text, re.MULTILINE):
            if not part.tags >= LIVE:
                yield f"{name}: a live cell must be tagged {', '.join(sorted(LIVE))}"
            if not before or before.code or "remove-cell" not in before.tags:
                yield f'{name}: tag the sentence before a live cell +++ {{"tags": ["remove-cell"]}}'
        if before and before.code and before.visible and part.visible:
            yield f"{name}: prose must separate two visible code cells"


def weight(chapter: Source) -> Iterator[str]:
    """Check how much code a chapter has, and how much of it is folded; and how long its handbook is."""
    parts = [part for part in before_exercises(chapter) if part.code and not is_listing(part)]
    folded = sum(length(part.text) for part in parts if not part.visible)
    together = sum(length(part.text) for part in parts)
    if chapter.number:
        yield from too_many(folded, FOLDED, "folded lines before the exercises")
        yield from too_many(together, TOGETHER, "lines of code before the exercises")
        yield from too_many(len(chapter.figures), FIGURES, "figures")
    texts = [part.text for part in chapter.parts if part.handbook and not part.code]
    words = sum(len(re.sub(COMMENT, "", text).split()) for text in texts)
    yield from too_many(words, WORDS, "words in the handbook")


def too_many(count: int, most: int, what: str) -> Iterator[str]:
    """Complain if there are more than allowed."""
    if count > most:
        yield f"{count} {what}, more than {most}"


def is_listing(part: Part) -> bool:
    """Return whether a cell shows a source."""
    return "show_source(" in part.text and length(part.text) <= 3


def before_exercises(chapter: Source) -> list[Part]:
    """Return the parts before the exercises."""
    places = [i for i, part in enumerate(chapter.parts) if part.section.startswith("Exercises")]
    return chapter.parts[: places[0]] if places else chapter.parts


def length(code: str) -> int:
    """Count the lines of a cell, except empty lines, imports, and the rows of a table."""
    imports = [node for node in parse_cell(code).body if isinstance(node, ast.Import | ast.ImportFrom)]
    skip = {line for node in imports for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    lines = [text for line, text in enumerate(code.splitlines(), 1) if line not in skip]
    return sum(bool(text.strip()) and not ROW.match(text) for text in lines)


def lint_notebook(cells: list[dict[str, Any]]) -> list[str]:
    """Return complaints about an executed chapter: missing tables."""
    section, tables = "", dict[str, bool]()
    for cell in cells:
        source = "".join(cell["source"])
        texts = [source] if cell["cell_type"] == "markdown" else []
        data = [output.get("data", {}) for output in cell.get("outputs", [])]
        texts += ["".join(each.get("text/markdown", "")) for each in data]
        for text in texts:
            for title, piece in split_sections(text):
                section = title or section
                tables[section] = tables.get(section, False) or bool(TABLE.search(piece))
    bare = [each for each in tables if each.startswith("In other libraries") and not tables[each]]
    return [f"{each}: no table" for each in bare]
