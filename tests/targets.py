"""The targets of links that the chapters offer, and words in a row, by which a copied text is found."""

import re
from pathlib import Path

from builder.chapters import read_chapters
from builder.source import Source, read

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html" / "chapters"
CHAPTERS = {chapter.number: chapter for chapter in read_chapters(ROOT)}
COPIED = 6  # this many consecutive words count as a quotation


def anchors(source: Source) -> set[str]:
    """Return the targets that a chapter offers."""
    named = (*source.sections, *source.equations, *source.exercises)
    return {
        *(f"claim-{name}" for part in source.parts for name in part.claims),
        *(f"figure-{figure.number.replace('.', '-')}" for figure in source.figures),
        *(one.label for one in named),
        *(one.anchor for one in (*source.sections, *source.entries)),
    }


NOTEBOOKS = {number: chapter.notebook for number, chapter in CHAPTERS.items()}
SOURCES = {number: chapter.path for number, chapter in CHAPTERS.items()}
OFFERED = {number: anchors(read(path)) for number, path in SOURCES.items()}


def words_in_a_row(text: str, words: int = COPIED) -> set[tuple[str, ...]]:
    """Return each run of `words` consecutive words; formulas do not count: there is one way to write them."""
    every = re.findall(r"[a-z]+", re.sub(r"\$[^$]+\$", " ", text.lower()))
    return {tuple(every[i : i + words]) for i in range(len(every) - words + 1)}
