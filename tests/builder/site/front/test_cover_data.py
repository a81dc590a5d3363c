"""The book's front matter: cover, cards, sidebar, and the 404 page."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import yaml
from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from builder.chapters import Chapter, read_chapters, written
from builder.site import cover_page as sphinx_cover
from builder.site.front import cover_data
from builder.site.front.cards import cards, table
from tests.explorer_pages import HTML, ROOT

DATA = json.loads(cover_data.FILE.read_text(encoding="utf-8"))
CHAPTERS = read_chapters(ROOT)


def soup(text: str) -> BeautifulSoup:
    return BeautifulSoup(text, "html.parser")


# The picture.


def test_oracle_the_committed_weights_are_those_of_the_model():
    found = cover_data.alignment()
    for row, wanted in zip(found.pop("weights"), DATA["weights"], strict=True):
        assert row == pytest.approx(wanted, abs=2e-3)
    assert DATA == {**found, "weights": DATA["weights"]}


def test_law_the_cover_shows_the_translation_that_the_model_makes():
    page = (ROOT / "index.md").read_text(encoding="utf-8")
    assert f"translate([\"{DATA['sentence']}\"])\n# ['{DATA['translation']}']" in page


# Chapters, cards, and sidebar.


def test_law_the_list_and_the_table_of_contents_agree():
    parts = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    listed = {(part.get("caption"), c.get("title"), c["file"]) for part in parts for c in part["chapters"]}
    assert {(chapter.part, chapter.title, chapter.file) for chapter in CHAPTERS} <= listed


def write_source(folder: Path, name: str, head: str) -> Path:
    (folder / "chapters" / "src").mkdir(parents=True, exist_ok=True)
    (folder / "chapters" / "src" / f"{name}.md").write_text(f"---\n{head}\n---\n", encoding="utf-8")
    return folder


@pytest.mark.message
@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        ("title: A\nterms: [beam]", r"the front matter of 01_a\.md has no part, question"),
        (
            "title: A\nterm: [beam]",
            r"the front matter of 01_a\.md has term, which nothing reads; the keys are .*, terms, title",
        ),
        ("question: Masks: which?", r"of 01_a\.md is not YAML \(quote a text that has a colon\)"),
    ],
)
def test_message_a_front_matter_that_cannot_be_read(tmp_path, head, sentence):
    write_source(tmp_path, "01_a", head)
    with pytest.raises(ExtensionError, match=sentence):
        read_chapters(tmp_path)


@pytest.mark.message
def test_message_a_number_given_twice(tmp_path):
    for name in ("01_a", "01_b"):
        write_source(tmp_path, name, 'title: A\npart: P\nquestion: "Why?"')
    with pytest.raises(ExtensionError, match=r"01_a\.md and 01_b\.md are both chapter 1; rename one"):
        read_chapters(tmp_path)


def test_law_the_sources_are_the_list_of_chapters(tmp_path: Path):
    write_source(tmp_path, "01_a", 'title: A\npart: P\nquestion: "Why?"\nterms: {a: b}')
    write_source(tmp_path, "guide", "jupytext: {}")
    first = Chapter(1, "P", "A", "Why?", tmp_path / "chapters" / "src" / "01_a.md", {"a": "b"})
    assert read_chapters(tmp_path) == [first]
    assert [path.stem for path in written(tmp_path)] == ["01_a", "guide"]
    assert table([first]).splitlines()[2:] == ["| 1. {doc}`A </chapters/01_a>` | Why? |"]


def test_law_a_card_has_one_link():
    page = soup(cards(CHAPTERS, ROOT, lambda name: f"{name}.html"))
    assert [part.get_text() for part in page.select("h3")] == list(dict.fromkeys(c.part for c in CHAPTERS))
    found = page.select("li.at-card")
    assert len(found) == len(CHAPTERS)
    for card, chapter in zip(found, CHAPTERS, strict=True):
        assert [link["href"] for link in card.select("a")] == [f"{chapter.file}.html"]
        assert card.select_one("strong").get_text() == chapter.title
        assert chapter.question in card.get_text()
        assert len(card.select("svg[aria-hidden=true]")) == 1
    ids = [element["id"] for element in page.select("[id]")]
    assert len(set(ids)) == len(ids)
    used = set(re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", str(page)))
    assert {one or other for one, other in used} <= set(ids)


# What depends on the base URL.


def test_law_the_base_url_determines_the_links_of_the_404_page(tmp_path):
    for base, root in (("", ""), ("https://the.book/x", "https://the.book/x/")):
        config = SimpleNamespace(html_title="The <Book>", html_baseurl=base)
        sphinx_cover.write_files(Mock(spec=Sphinx, outdir=tmp_path, config=config))
        page = soup((tmp_path / "404.html").read_text("utf-8"))
        assert page.select_one("main a")["href"] == f"{root}index.html"
        assert page.select_one("form")["action"] == f"{root}search.html"
        assert "The <Book>" in page.title.get_text()


# The rendered pages.


@pytest.mark.page
@pytest.mark.parametrize("name", ["index", "chapters/06_masking"])
def test_law_the_sidebar_of_each_page_lists_all_chapters_in_order(name: str):
    page = soup((HTML / f"{name}.html").read_text(encoding="utf-8"))
    lines = [line.get_text().strip() for line in page.select(".bd-sidebar-primary li.toctree-l1")]
    wanted = [f"{chapter.number}. {chapter.title}" for chapter in CHAPTERS]
    assert [line for line in lines if line in wanted] == wanted
    parts = dict.fromkeys(chapter.part for chapter in CHAPTERS)
    captions = [caption.get_text().strip() for caption in page.select(".bd-sidebar-primary .caption")]
    assert [caption for caption in captions if caption in parts] == list(parts)
