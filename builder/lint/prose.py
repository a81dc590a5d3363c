"""The prose of a source: its paragraphs, and their sentences without code and links."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from builder.source import INLINE, OPTION, Source, blocks

ADDRESS = re.compile(r"<https?://[^>]*>|https?://[^\s)>]+|</?[a-z][^>]*>", re.DOTALL)  # or an HTML tag
TEXTS = {"heading", "text", "html", "formula", "equation"}
NO_TEXTS = {"code", "code-block", "math", "label"}
SENTENCE = re.compile(r"(?<=[.!?:])[*\"”)\]]*\s+(?=[A-Z*“\"\[$`])")


class Paragraph(NamedTuple):
    """The raw text of a paragraph, list item, or table row, its line, and the tags of its part."""

    text: str
    line: int
    tags: frozenset[str]


def paragraphs(source: Source) -> Iterator[Paragraph]:
    """Yield the paragraphs of the prose, without blocks of code."""
    for part in source.parts:
        for text, line in () if part.code else _paragraphs(part.text):
            yield Paragraph(text, part.line + line, part.tags)


def _paragraphs(text: str) -> Iterator[tuple[str, int]]:
    for block in blocks(text):
        line = text.count("\n", 0, block.start)
        if block.kind in TEXTS:
            yield block.text.rstrip("\n"), line
        elif block.kind not in NO_TEXTS:
            for inner, place in _paragraphs(OPTION.sub("\n", block.content)):
                yield inner, line + 1 + place


def blank(text: str, *, math: bool) -> str:
    """Replace everything but prose with spaces, also formulas if `math`; the length stays the same."""

    def blanked(part: re.Match[str]) -> str:
        if part["words"] is not None:  # of a link, whose target is no prose
            words = blank(part["words"], math=math)
            return f"[{words}]{spaces(part[0][len(words) + 2 :])}"
        return part[0] if part["math"] and not math else spaces(part[0])

    return ADDRESS.sub(lambda address: spaces(address[0]), INLINE.sub(blanked, text))


def spaces(text: str) -> str:
    """Return as many spaces and lines as a text has."""
    return re.sub(r"[^\n]", " ", text)


def sentences(text: str) -> Iterator[tuple[str, int]]:
    """Return each sentence of a paragraph and its offset."""
    start = 0
    for gap in SENTENCE.finditer(text):
        yield text[start : gap.end()], start
        start = gap.end()
    yield text[start:], start
