"""The glossary lists the terms of the chapters' front matter, and renders even if there are none."""

from pathlib import Path

import pytest

from annotated_transformer.book.front.chapters import defined_terms, read_chapters
from annotated_transformer.book.front.directives import NO_TERMS
from tests.small_book import render, write_book

ROOT = Path(__file__).resolve().parents[2]
LIST = """
- {number: 1, part: P, title: Looking, question: "Why?", file: chapters/01_looking}
- {number: 2, part: P, title: Later, question: "When?", terms: [beam]}
"""
TERMS = """terms:
  zebra: An animal with $n$ stripes, see [the paper](https://example.org).
  Apple: >-
    A fruit
    in two lines.
"""


def small_book(folder: Path, terms: str) -> Path:
    """Write a book of one finished chapter, one planned chapter, and the glossary."""
    chapter = f"---\njupytext: {{}}\n{terms}---\n\n# Looking around\n\nA sentence about zebras.\n"
    pages = {
        "planned.yml": LIST,
        "src/01_looking": chapter,
        "01_looking": "# Looking around\n\nText.\n",
        "glossary": (ROOT / "chapters" / "glossary.md").read_text(encoding="utf-8"),
    }
    return write_book(folder, pages)


def test_law_terms_are_defined_only_in_the_front_matter():
    assert defined_terms(f"---\n{TERMS}---\n# Title\n")["Apple"] == "A fruit in two lines."
    assert defined_terms("---\njupytext: {}\n---\n# Title\n") == {}
    assert defined_terms("# No front matter\n\n---\nterms: {a: b}\n---\n") == {}


def test_law_the_glossary_is_alphabetical_and_leads_to_the_chapter(tmp_path: Path):
    pages, warnings = render(small_book(tmp_path, TERMS))
    assert warnings == ""
    page = pages["chapters/glossary.html"]
    assert 0 < page.index('id="term-apple"') < page.index('id="term-zebra"')
    assert 'href="https://example.org"' in page  # a definition is Markdown
    assert 'class="math' in page
    link = page.split('id="term-zebra"')[1].split("</dd>")[0]
    assert 'href="01_looking.html"' in link
    assert "Chapter 1: Looking" in link
    assert "beam" not in page  # a planned chapter defines nothing yet
    assert '"zebra":[[' in pages["searchindex.js"].replace(" ", "")


def test_law_a_book_without_terms_renders_without_a_warning(tmp_path: Path):
    pages, warnings = render(small_book(tmp_path, ""))
    assert warnings == ""
    assert NO_TERMS in pages["chapters/glossary.html"]


def test_law_no_term_is_introduced_twice():
    introduced: dict[str, int] = {}
    for chapter in read_chapters(ROOT):
        for term in chapter.terms:
            name = term.lower()
            assert name not in introduced, f"{term}: chapters {introduced[name]} and {chapter.number}"
            introduced[name] = chapter.number
    assert introduced


@pytest.mark.parametrize("chapter", [c for c in read_chapters(ROOT) if c.file], ids=lambda c: c.name)
def test_law_a_definition_is_a_sentence(chapter):
    for term, words in chapter.terms.items():
        assert 4 <= len(words.split()) <= 45, term
        assert words.endswith("."), term
        assert words[0].isupper() or words[0] in "$`", term
