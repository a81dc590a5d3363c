"""Link targets of the appendices' rows: those that the chapters define, and the errors in a row's links."""

import json
import re
from pathlib import Path

from bs4 import BeautifulSoup

from builder.chapters import parsed, read_chapters, source_of
from builder.handbook import divided, entries, page_of
from builder.site.front.statements import Correction, Statement
from builder.site.front.targets import sections

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html" / "chapters"
CHAPTERS = {chapter.number: chapter for chapter in read_chapters(ROOT)}
COPIED = 6  # this many consecutive words count as a quotation
Row = Correction | Statement


def anchors(notebook: str, source: str) -> set[str]:
    printed = "\n".join(
        "".join(text)
        for cell in json.loads(notebook)["cells"]
        for output in cell.get("outputs", [])
        for text in output.get("data", {}).values()
        if isinstance(text, str | list)
    )
    figures = re.findall(r'id="(figure-[a-z0-9-]+)"', printed)
    options = re.findall(r"^:claims: \[(.*)\]$", source, re.MULTILINE)
    claims = [f"claim-{name}" for option in options for name in option.split(", ")]
    labels = r"^\$\$ \(([a-z0-9-]+)\)$", r"^:label: ([a-z0-9-]+)$", r"^\(([a-z0-9-]+)\)=$"
    return {*figures, *claims}.union(*(re.findall(label, source, re.MULTILINE) for label in labels))


def asked(source: str) -> list[str]:
    """Return the anchors of the entries of a handbook."""
    return [entry.anchor for entry in entries(divided(parsed(source).cells)[1])]


NOTEBOOKS = {number: ROOT / f"{chapter.file}.ipynb" for number, chapter in CHAPTERS.items()}
SOURCES = {number: source_of(ROOT, CHAPTERS[number].name) for number in NOTEBOOKS}
OFFERED = {
    n: {*anchors(path.read_text("utf-8"), text), *sections(SOURCES[n]), *asked(text)}
    for n, path in NOTEBOOKS.items()
    for text in [SOURCES[n].read_text("utf-8")]
}


def faults(row: Row) -> list[str]:
    """Return the errors in a row's links."""
    errors = []
    for target in row.shown:
        if target.chapter not in CHAPTERS:
            errors.append(f"there is no chapter {target.chapter}")
        elif target.anchor not in OFFERED[target.chapter]:
            errors.append(f"chapter {target.chapter} has no {target.anchor}")
    return errors or ["shown nowhere"] * (not row.shown)


def words_in_a_row(text: str, words: int = COPIED) -> set[tuple[str, ...]]:
    """Return each run of `words` consecutive words; formulas do not count: there is one way to write them."""
    all_words = re.findall(r"[a-z]+", re.sub(r"\$[^$]+\$", " ", text.lower()))
    return {tuple(all_words[i : i + words]) for i in range(len(all_words) - words + 1)}


def rendered_faults(page: str, rows: list[Row], folder: Path) -> list[str]:
    """Return the errors in the rows of a rendered page: a wrong number of links, or a broken link."""
    lines = BeautifulSoup(page, "html.parser").select("article tbody tr, body > table tbody tr")
    if len(lines) != len(rows):
        return [f"{len(lines)} rows instead of {len(rows)}"]
    errors = []
    for row, line in zip(rows, lines, strict=True):
        order = [target.chapter for target in row.shown]  # grouped by chapter, in order of first mention
        targets = sorted(row.shown, key=lambda target: order.index(target.chapter))
        links = [str(link["href"]) for link in line.select("td:last-child a[href]")]
        if len(links) != len(targets):
            errors.append(f"{row}: {len(links)} links instead of {len(targets)}")
        for target, link in zip(targets, links, strict=False):
            name, _, anchor = link.partition("#")
            page = f"../{page_of(ROOT, CHAPTERS[target.chapter].name, target.anchor)}.html"
            if name != page.replace("../chapters/", "") or not anchor:
                errors.append(f"{link} leads to another page than {target}")
            elif f'id="{anchor}"' not in (folder / name).read_text("utf-8"):
                errors.append(f"{link} leads to nothing")
    return errors
