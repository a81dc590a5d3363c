"""The glossary lists the terms of the chapters' front matter."""

from pathlib import Path

from builder.chapters import read_chapters

ROOT = Path(__file__).resolve().parents[2]


def test_law_the_glossary_is_alphabetical_and_leads_to_the_chapter(small_book: dict[str, str]):
    page = small_book["chapters/glossary.html"]
    assert 0 < page.index('id="term-apple"') < page.index('id="term-zebra"')
    assert 'href="https://example.org"' in page  # a definition is Markdown
    assert 'class="math' in page
    link = page.split('id="term-zebra"')[1].split("</dd>")[0]
    assert 'href="01_looking.html"' in link
    assert "Chapter 1: Looking" in link


def test_law_no_term_is_introduced_twice_and_each_definition_is_a_sentence():
    introduced: dict[str, int] = {}
    for chapter in read_chapters(ROOT):
        for term in chapter.terms:
            name = term.lower()
            assert name not in introduced, f"{term}: chapters {introduced[name]} and {chapter.number}"
            introduced[name] = chapter.number
        for term, words in chapter.terms.items():
            assert 4 <= len(words.split()) <= 45, term
            assert words.endswith("."), term
            assert words[0].isupper() or words[0] in "$`", term
    assert introduced
