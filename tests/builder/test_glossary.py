"""The glossary lists the terms of the chapters' front matter, and renders even if there are none."""

from pathlib import Path
from types import SimpleNamespace

from builder.chapters import front_matter, read_chapters, terms_of
from builder.site.front.glossary import NO_TERMS, Terms
from tests.small_book import TERMS

ROOT = Path(__file__).resolve().parents[2]


def test_law_terms_are_defined_only_in_the_front_matter(tmp_path: Path):
    for text, terms in (
        (f"---\n{TERMS}---\n# Title\n", ["zebra", "Apple"]),
        ("---\njupytext: {}\n---\n# Title\n", []),
        ("# No front matter\n\n---\nterms: {a: b}\n---\n", []),
    ):
        (tmp_path / "a.md").write_text(text, "utf-8")
        found = terms_of(front_matter(tmp_path / "a.md"))
        assert list(found) == terms
        assert found.get("Apple", "A fruit in two lines.") == "A fruit in two lines."


def test_law_the_glossary_is_alphabetical_and_leads_to_the_chapter(small_book: dict[str, str]):
    page = small_book["chapters/glossary.html"]
    assert 0 < page.index('id="term-apple"') < page.index('id="term-zebra"')
    assert 'href="https://example.org"' in page  # a definition is Markdown
    assert 'class="math' in page
    link = page.split('id="term-zebra"')[1].split("</dd>")[0]
    assert 'href="01_looking.html"' in link
    assert "Chapter 1: Looking" in link
    assert "beam" not in page  # a planned chapter defines nothing yet


def test_law_a_book_without_terms_says_so():
    planned = [SimpleNamespace(file="", terms={})]
    (words,) = Terms.run(SimpleNamespace(config=SimpleNamespace(at_chapters=planned)))
    assert words.astext() == NO_TERMS


def test_law_no_term_is_introduced_twice_and_each_definition_is_a_sentence():
    introduced: dict[str, int] = {}
    for chapter in read_chapters(ROOT):
        for term in chapter.terms:
            name = term.lower()
            assert name not in introduced, f"{term}: chapters {introduced[name]} and {chapter.number}"
            introduced[name] = chapter.number
        for term, words in chapter.terms.items() if chapter.file else ():
            assert 4 <= len(words.split()) <= 45, term
            assert words.endswith("."), term
            assert words[0].isupper() or words[0] in "$`", term
    assert introduced
