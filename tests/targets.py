"""Link targets of the appendices' rows: those that the chapters define, and the errors in a row's links."""

import re
from pathlib import Path

from bs4 import BeautifulSoup

from builder.chapters import read_chapters
from builder.handbook import page_of
from builder.site.front.statements import Correction, Statement
from builder.source import Source, read

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html" / "chapters"
CHAPTERS = {chapter.number: chapter for chapter in read_chapters(ROOT)}
COPIED = 6  # this many consecutive words count as a quotation
Row = Correction | Statement


def anchors(source: Source) -> set[str]:
    """Return the targets that a chapter offers."""
    named = {*source.sections, *source.equations, *source.exercises}
    return {
        *(f"claim-{name}" for part in source.parts for name in part.claims),
        *(f"figure-{figure.number.replace('.', '-')}" for figure in source.figures),
        *(one.label for one in named),
        *(one.anchor for one in (*source.sections, *source.entries)),
    }


NOTEBOOKS = {number: chapter.notebook for number, chapter in CHAPTERS.items()}
SOURCES = {number: chapter.path for number, chapter in CHAPTERS.items()}
OFFERED = {number: anchors(read(path)) for number, path in SOURCES.items()}


def faults(row: Row) -> list[str]:
    """Return the errors in a row's links."""
    found = []
    for target in row.shown:
        if target.chapter not in CHAPTERS:
            found.append(f"there is no chapter {target.chapter}")
        elif target.anchor not in OFFERED[target.chapter]:
            found.append(f"chapter {target.chapter} has no {target.anchor}")
    return found or ["shown nowhere"] * (not row.shown)


def words_in_a_row(text: str, words: int = COPIED) -> set[tuple[str, ...]]:
    """Return each run of `words` consecutive words; formulas do not count: there is one way to write them."""
    said = re.findall(r"[a-z]+", re.sub(r"\$[^$]+\$", " ", text.lower()))
    return {tuple(said[i : i + words]) for i in range(len(said) - words + 1)}


def rendered_faults(page: str, rows: list[Row], folder: Path) -> list[str]:
    """Return the errors in the rows of a rendered page: a wrong number of links, or a broken link."""
    lines = BeautifulSoup(page, "html.parser").select("article tbody tr, body > table tbody tr")
    if len(lines) != len(rows):
        return [f"{len(lines)} rows instead of {len(rows)}"]
    found = []
    for row, line in zip(rows, lines, strict=True):
        order = [target.chapter for target in row.shown]  # grouped by chapter, in order of first mention
        wanted = sorted(row.shown, key=lambda target: order.index(target.chapter))
        links = [str(link["href"]) for link in line.select("td:last-child a[href]")]
        if len(links) != len(wanted):
            found.append(f"{row}: {len(links)} links instead of {len(wanted)}")
        for target, link in zip(wanted, links, strict=False):
            name, _, anchor = link.partition("#")
            page = f"../{page_of(SOURCES[target.chapter], target.anchor)}.html"
            if name != page.replace("../chapters/", "") or not anchor:
                found.append(f"{link} leads to another page than {target}")
            elif f'id="{anchor}"' not in (folder / name).read_text("utf-8"):
                found.append(f"{link} leads to nothing")
    return found
