"""The appendix on what notes get wrong: its 66 rows, and that each leads to a place that is there."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from sphinx.errors import ExtensionError
from sphinx.testing.util import SphinxTestApp

from annotated_transformer.book.front.chapters import read_chapters
from annotated_transformer.book.front.corrections import (
    KINDS,
    Correction,
    Place,
    Statement,
    claims,
    places,
    read_corrections,
    sections,
    shown_in,
    table,
)

ROOT = Path(__file__).resolve().parents[2]
NOTES = ROOT.parent / "shared" / "notes"
CHAPTERS = {chapter.number: chapter for chapter in read_chapters(ROOT)}
ROWS = read_corrections(ROOT)
IDS = [f"row-{row.number}" for row in ROWS]
COPIED = 8  # as many words in a row are a quotation


def anchors(notebook: str) -> set[str]:
    """Return what a notebook offers as targets of links: claims, figures and labels."""
    cells = json.loads(notebook)["cells"]
    printed = "\n".join(
        "".join(text)
        for cell in cells
        for output in cell.get("outputs", [])
        for text in output.get("data", {}).values()
        if isinstance(text, str | list)
    )
    written = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    found = set(re.findall(r'id="((?:claim|figure)-[a-z0-9-]+)"', printed))
    for pattern in (r"^\$\$ \(([a-z0-9-]+)\)$", r"^:label: ([a-z0-9-]+)$", r"^\(([a-z0-9-]+)\)=$"):
        found |= set(re.findall(pattern, written, re.MULTILINE))
    return found


NOTEBOOKS = {number: ROOT / f"{chapter.file}.ipynb" for number, chapter in CHAPTERS.items() if chapter.file}
OFFERED = {n: {*anchors(path.read_text("utf-8")), *sections(path)} for n, path in NOTEBOOKS.items()}


def faults(row: Correction | Statement) -> list[str]:
    """Return what is wrong with where a row leads."""
    found = []
    for place in row.shown:
        if place.anchor not in OFFERED.get(place.chapter, ()):
            found.append(f"chapter {place.chapter} has no {place.anchor}")
    if row.planned and (row.planned not in CHAPTERS or CHAPTERS[row.planned].file):
        found.append(f"chapter {row.planned} is not planned any more; link what shows this row")
    if not row.shown and not row.planned:
        found.append("neither shown nor planned")
    return found


def runs(text: str, words: int = COPIED) -> set[tuple[str, ...]]:
    """Return each run of so many words in a text; formulas, which there is one way to write, do not count."""
    said = re.findall(r"[a-z]+", re.sub(r"\$[^$]+\$", " ", text.lower()))
    return {tuple(said[i : i + words]) for i in range(len(said) - words + 1)}


def test_law_each_of_the_66_has_a_row():
    assert [row.number for row in ROWS] == list(range(1, 67))
    assert len({row.statement for row in ROWS}) == 66


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_law_a_row_says_what_is_right_and_leads_to_a_place_that_is_there(row):
    assert row.kind in KINDS
    assert row.statement.endswith("."), row.statement
    assert row.right.endswith((".", ")")), row.right
    assert 1 <= len(re.findall(r"[.?](?= |$)", row.right)) <= 4, row.right
    assert "|" not in row.statement + row.right  # it would end the cell
    assert faults(row) == []


def test_law_a_place_that_is_not_there_is_found():
    row = Correction(1, "code", "wrong", "A.", "B.")
    assert faults(row) == ["neither shown nor planned"]
    for shown in ("4#claim-nothing", "4#figure-4-99", "4#eq-nothing", "14#claim-mean", "99#claim-mean"):
        assert len(faults(Correction(1, "code", "wrong", "A.", "B.", places([shown])))) == 1, shown
    for planned in (4, 99):
        assert len(faults(Correction(1, "code", "wrong", "A.", "B.", planned=planned))) == 1, planned
    good = ["4#claim-mean", "4#figure-4-1", "4#eq-ratio", "4#ex-circle", "3#why-sqrt", "3#common-mistakes"]
    assert faults(Correction(1, "code", "wrong", "A.", "B.", places(good))) == []


def test_law_the_page_has_each_topic_once():
    page = (ROOT / "chapters" / "corrections.md").read_text("utf-8")
    shown = re.findall(r"^```\{corrections\} (\S+)$", page, re.MULTILINE)
    assert Counter(shown) == Counter({row.topic for row in ROWS})
    assert f"{len(ROWS)} statements" in page
    assert "chapters/corrections" in (ROOT / "_toc.yml").read_text("utf-8")


def test_law_a_table_has_a_line_for_each_row_and_says_what_a_claim_measures():
    rows = [row for row in ROWS if row.topic == "code"]
    head, rule, *lines = table(rows, CHAPTERS, ROOT).splitlines()
    assert len(lines) == len(rows) > 1
    assert {line.count(" | ") for line in (head, rule, *lines)} == {2}
    assert "Chapter 4: [torch.bnm](/chapters/04_self_attention.ipynb#claim-wrong-bnm)." in lines[0]
    assert "(*wrong*)" in lines[0]


def test_law_places_are_grouped_by_chapter_and_a_planned_one_is_named():
    row = Correction(
        1, "x", "wrong", "A.", "B.", places(["4#eq-ratio", "3#why-sqrt", "4#figure-4-1 a map"]), planned=99
    )
    planned = {**CHAPTERS, 99: CHAPTERS[1]}
    assert shown_in(row, planned, ROOT) == (
        "Chapter 4: equation {eq}`eq-ratio`; [a map](/chapters/04_self_attention.ipynb#figure-4-1). "
        "Chapter 3: {ref}`why-sqrt`. Why attention (chapter 99, planned)."
    )


SMALL = """
- number: 2
  topic: stars
  kind: wrong
  statement: Stars are *fixed*.
  right: They move by $v$.
  shown: [1#claim-moves, "1#figure-1-1 a map", 1#eq-star]
- {number: 1, topic: stars, kind: missing, statement: Stars., right: They burn., planned: 2}
- {number: 3, topic: moons, kind: missing, statement: A moon., right: Ours., planned: 2}
"""
STARS = """
- {number: 1, part: P, title: Looking, question: "Why?", file: chapters/01_looking}
- {number: 2, part: P, title: Later, question: "When?", terms: []}
"""


def test_law_a_topic_renders_as_a_table_with_links(tmp_path: Path):
    chapters = tmp_path / "chapters"
    (chapters / "src").mkdir(parents=True)
    (chapters / "src" / "01_looking.md").write_text("# Looking\n", encoding="utf-8")
    (chapters / "planned.yml").write_text(STARS, encoding="utf-8")
    (chapters / "corrections.yml").write_text(SMALL, encoding="utf-8")
    (chapters / "corrections.md").write_text("# Notes\n\n```{corrections} stars\n```\n", encoding="utf-8")
    text = '<a class="at-claim" id="claim-moves"></a>✓ a star, moved: **2** (claimed: above 1)'
    output = {"output_type": "display_data", "metadata": {}, "data": {"text/markdown": text}}
    equation = {"cell_type": "markdown", "metadata": {}, "source": "# Looking\n\n$$\nx\n$$ (eq-star)"}
    cell = {"cell_type": "code", "metadata": {}, "source": "", "execution_count": 1, "outputs": [output]}
    notebook = {"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [equation, cell]}
    (chapters / "01_looking.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    (tmp_path / "index.md").write_text(
        "# Cover\n\n```{toctree}\nchapters/01_looking\nchapters/corrections\n```\n", encoding="utf-8"
    )
    (tmp_path / "conf.py").write_text(
        "extensions = ['myst_nb', 'annotated_transformer.book.sphinx_cover']\nnb_execution_mode = 'off'\n"
        "exclude_patterns = ['chapters/src', '_build']\nmyst_enable_extensions = ['dollarmath']\n"
        "html_theme = 'basic'\nsuppress_warnings = ['myst.xref_missing']\n",
        encoding="utf-8",
    )
    app = SphinxTestApp(srcdir=tmp_path, freshenv=True)
    try:
        app.build()
        assert app.warning.getvalue() == ""
        page = (Path(app.outdir) / "chapters" / "corrections.html").read_text("utf-8")
    finally:
        app.cleanup()
    links = re.findall(r'href="(01_looking\.html#[^"]+)"[^>]*>(.*?)</a>', page)
    assert [(link, re.sub("<[^>]+>", "", text)) for link, text in links] == [
        ("01_looking.html#claim-moves", "a star, moved"),
        ("01_looking.html#figure-1-1", "a map"),
        ("01_looking.html#equation-eq-star", "(1)"),
    ]
    assert page.count("<tr") == 3  # the head, and two rows
    assert page.index("They burn.") < page.index("They move by")
    assert "Later (chapter 2, planned)." in page
    assert "A moon." not in page


@pytest.mark.parametrize("number", OFFERED)
def test_law_each_claim_that_a_chapter_offers_says_what_it_measures(number):
    found = claims(ROOT / f"{CHAPTERS[number].file}.ipynb")
    assert set(found) == {anchor for anchor in OFFERED[number] if anchor.startswith("claim-")}


@pytest.mark.message
def test_message_a_place_without_a_chapter():
    assert places(["4#claim-mean its text"]) == (Place(4, "claim-mean", "its text"),)
    with pytest.raises(ExtensionError, match=r"'claim-mean' is no place; write CHAPTER#ANCHOR"):
        places(["claim-mean"])


def test_law_no_row_copies_the_notes():
    assert runs("One: two three four five six seven eight") & runs(
        "one two $x$ three four five six seven eight"
    )
    if not NOTES.is_dir():
        return  # a clone does not have them
    notes = {run for file in NOTES.glob("*.txt") for run in runs(file.read_text("utf-8"))}
    assert len(notes) > 1000
    copied = {row.number: runs(row.statement) & notes or runs(row.right) & notes for row in ROWS}
    assert {number: found for number, found in copied.items() if found} == {}
