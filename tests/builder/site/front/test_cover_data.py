"""The book's front matter: cover, cards, planned chapters, link previews, and the 404 page."""

import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import yaml
from bs4 import BeautifulSoup
from docutils import nodes
from playwright.sync_api import Page
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from builder.chapters import Chapter, read_chapters, written
from builder.site import cover_page as sphinx_cover
from builder.site.front import cover_data, picture, preview
from builder.site.front.cards import cards, icon, table
from builder.site.front.sidebar import add_planned
from tests.axe import violations
from tests.explorer_pages import HTML, ROOT, eventually
from tests.serving import Quiet, serving

DATA = json.loads(cover_data.FILE.read_text(encoding="utf-8"))
CHAPTERS = read_chapters(ROOT)
FINISHED = [chapter for chapter in CHAPTERS if chapter.file]


def soup(text: str) -> BeautifulSoup:
    return BeautifulSoup(text, "html.parser")


# The picture.

MORGEN = {"tomorrow": "88%", "can": "3%"}


def test_oracle_the_committed_weights_are_those_of_the_model():
    found = cover_data.alignment()
    for row, wanted in zip(found.pop("weights"), DATA["weights"], strict=True):
        assert row == pytest.approx(wanted, abs=2e-3)
    assert DATA == {**found, "weights": DATA["weights"]}


def test_law_the_caption_says_what_the_weights_show():
    rows = dict(zip(DATA["target"], DATA["weights"], strict=True))
    most = {word: DATA["source"][row.index(max(row))] for word, row in rows.items() if max(row) > 0.6}
    pairs = {"morgen": "tomorrow", "kommen": "come", "kannst": "can"}
    assert most.items() >= pairs.items()
    assert [word for word in DATA["target"] if word in pairs] == [*pairs]
    assert [word for word in DATA["source"] if word in pairs.values()] == [*pairs.values()][::-1]
    assert max(rows[","]) < 0.4
    assert max(rows["dass"]) < 0.5
    assert f"decoder layer {DATA['layer']} of {DATA['layer']}" in picture.picture("1 MB")


def test_law_the_cover_shows_the_translation_that_the_model_makes():
    page = (ROOT / "index.md").read_text(encoding="utf-8")
    assert f"translate([\"{DATA['sentence']}\"])\n# ['{DATA['translation']}']" in page


def test_law_writing_the_weights_reproduces_the_committed_file(tmp_path, monkeypatch):
    monkeypatch.setattr(cover_data, "alignment", lambda: dict(DATA))
    cover_data.write_cover(tmp_path / "cover.json")
    assert (tmp_path / "cover.json").read_text("utf-8") == cover_data.FILE.read_text("utf-8")


def test_law_the_picture_states_its_weights_without_javascript():
    page = soup(picture.picture("1 MB"))
    words = [word.get_text() for word in page.select(".at-alignment-queries li")]
    assert words[5] == "morgen attends to “tomorrow” 88%, “can” 3%"
    assert words[2].startswith(", (comma) attends to ")
    across, down = page.select("svg")  # between rows, and on a phone between columns
    assert [tag["aria-label"] for tag in (across, down)] == [label := across["aria-label"]] * 2
    assert 8 <= len(label.split()) <= 60
    assert DATA["sentence"] in label
    assert page.select_one(".at-alignment-run.pst-js-only button").get_text().endswith("page (1 MB)")
    page.select_one(".at-alignment-run").decompose()
    assert page.select("button, [tabindex], script") == []  # added by the script
    count = sum(weight >= picture.LEAST for row in DATA["weights"] for weight in row)
    for drawn in (across, down):
        assert len(drawn.select("path")) == count
        assert {path["data-query"] for path in drawn.select(".at-active")} == {"5"}
    shown = {key.b.get_text(): key.i.get_text() for key in page.select(".at-alignment-keys li")}
    assert {word: share for word, share in shown.items() if share} == MORGEN
    assert page.select_one("li.at-active").get_text().startswith("morgen")
    script = (cover_data.FILE.parent / "cover.js").read_text(encoding="utf-8")
    assert f"LEAST = {picture.LEAST};" in script


# Chapters, cards, and sidebar.


def test_law_the_list_and_the_table_of_contents_agree():
    parts = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    listed = {(part.get("caption"), c.get("title"), c["file"]) for part in parts for c in part["chapters"]}
    assert {(chapter.part, chapter.title, chapter.file) for chapter in FINISHED} <= listed


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
        ("- title", r"of 01_a\.md holds no keys \(key: value\), but \['title'\]"),
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
    write_source(tmp_path, "02_later", "title: Later\npart: P\nquestion: When?\nterms: [beam]\nplanned: true")
    write_source(tmp_path, "01_a", 'title: A\npart: P\nquestion: "Why?"\nterms: {a: b}')
    write_source(tmp_path, "guide", "jupytext: {}")
    first = Chapter(1, "P", "A", "Why?", "chapters/01_a", {"a": "b"})
    assert read_chapters(tmp_path) == [first, Chapter(2, "P", "Later", "When?", terms={"beam": ""})]
    assert [path.stem for path in written(tmp_path)] == ["01_a", "guide"]
    assert table(read_chapters(tmp_path)).splitlines()[2:] == [
        "| 1. {doc}`A </chapters/01_a>` | Why? |",
        "| 2. Later | When? |",
    ]


def test_law_a_card_has_one_link_and_a_planned_card_has_none():
    page = soup(cards(CHAPTERS, ROOT, lambda name: f"{name}.html"))
    assert [part.get_text() for part in page.select("h3")] == list(dict.fromkeys(c.part for c in CHAPTERS))
    found = page.select("li.at-card")
    assert len(found) == len(CHAPTERS)
    for card, chapter in zip(found, CHAPTERS, strict=True):
        assert [link["href"] for link in card.select("a")] == [f"{chapter.file}.html"] * bool(chapter.file)
        assert card.select_one("strong").get_text() == chapter.title
        assert chapter.question in card.get_text()
        assert ("planned" in card.get_text().split()) is not bool(chapter.file)
        assert len(card.select("svg[aria-hidden=true]")) == bool(chapter.file)
    ids = [element["id"] for element in page.select("[id]")]
    assert len(set(ids)) == len(ids)
    used = set(re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", str(page)))
    assert {one or other for one, other in used} <= set(ids)


def test_law_a_chapter_has_an_icon_of_shapes_alone():
    allowed = {"svg", "path", "rect", "circle"}
    for chapter in FINISHED:
        drawn = soup(icon(ROOT, chapter).read_text(encoding="utf-8"))
        assert {tag.name for tag in drawn.find_all()} <= allowed, chapter.name
        assert drawn.svg["aria-hidden"] == "true"
        assert drawn.select(".lit, .bold, .query"), chapter.name  # it has an emphasis


def sidebar(**parts: str) -> BeautifulSoup:
    text = ""
    for part, titles in parts.items():
        links = "".join(f'<li class="toctree-l1"><a href="x">{title}</a></li>\n' for title in titles)
        caption = f'<p class="caption"><span class="caption-text">{part}</span></p>'
        text += f'{caption}\n<ul class="nav">{links}</ul>\n'
    return soup(text)


def test_law_the_sidebar_lists_planned_chapters_among_the_finished_ones():
    parts = dict(zip("ABCDEF", ["One"] * 5 + ["Two"], strict=True))
    chapters = [
        Chapter(n, part, title, "?", file="x" if title in "BD" else "")
        for n, (title, part) in enumerate(parts.items(), start=1)
    ]
    add_planned(made := sidebar(One="BD", Back="N"), chapters)
    lines = "One, 1. A (planned), B, 3. C (planned), D, 5. E (planned), Two, 6. F (planned), Back, N"
    assert [line.get_text() for line in made.select("p.caption, li")] == lines.split(", ")
    assert [link.get_text() for link in made.select("a")] == ["B", "D", "N"]
    add_planned(other := sidebar(Elsewhere="X"), chapters)
    assert str(other) == str(sidebar(Elsewhere="X"))


def contents(title: str, *below: nodes.Node) -> nodes.bullet_list:
    return nodes.bullet_list("", nodes.list_item("", nodes.paragraph(title, title), *below))


def test_law_the_sidebar_is_made_of_titles_and_other_tables_of_all_headings():
    tables = {"a": contents("A", contents("A.1"))}
    tables["index"] = contents("B", addnodes.toctree(), contents("B.1"))
    app = Mock(spec=Sphinx, env=Mock(tocs=tables))
    context = {"toctree": lambda **options: [table.astext() for table in app.env.tocs.values()]}
    whole = context["toctree"]()
    sphinx_cover.shorten_tables(app, "x", "page.html", context, None)
    assert context["toctree"](titles_only=True) == ["A", whole[1]]  # the one that lists pages is whole
    assert context["toctree"](titles_only=False) == context["toctree"]() == whole


def test_law_the_links_to_neighbors_have_the_names_of_the_sidebar():
    chapters = [Chapter(4, "P", "Self-attention", "?", "chapters/04_self")]
    app = Mock(spec=Sphinx, config=Mock(at_chapters=chapters))
    context = {"prev": {"link": "../chapters/04_self.html"}, "next": {"link": "glossary.html"}}
    sphinx_cover.name_neighbors(app, "x", "page.html", context, None)
    assert (context["prev_title"], context.get("next_title")) == ("4. Self-attention", None)


# Link previews, and everything else that depends on the base URL.


def previewed(*arguments: str) -> dict[str, str]:
    found = soup(preview.tags(*arguments)).select("meta")
    return {tag.get("property") or tag["name"]: tag["content"] for tag in found}


def test_law_a_link_preview_has_absolute_urls_and_a_picture_if_there_is_a_base_url():
    description = '<meta name="description" content="What &quot;it&quot; is" />'
    assert previewed("A <b>", "Book", description, "", "") == {
        "og:type": "article",
        "og:site_name": "Book",
        "og:title": "A <b>",
        "og:description": 'What "it" is',
        "twitter:card": "summary",
    }
    site = "https://the.book/x"
    for base in (site, f"{site}/"):
        said = previewed("Book", "Book", "", base, f"{site}/index.html")
        assert said.items() >= {
            ("og:type", "website"),
            ("og:url", f"{site}/index.html"),
            ("og:image", f"{site}/_static/cover.png"),
            ("twitter:card", "summary_large_image"),
        }
        assert "og:description" not in said


def test_law_the_preview_picture_has_the_right_size_and_is_reproducible(tmp_path):
    def drawn(title: str) -> bytes:
        preview.draw(tmp_path / "new" / "one.png", title)
        return (tmp_path / "new" / "one.png").read_bytes()

    first = drawn("A Book")
    assert drawn("A Book") == first != drawn("Another Book")
    assert struct.unpack(">II", first[16:24]) == (1200, 630)


def test_law_the_base_url_determines_the_links_of_the_404_page(tmp_path):
    for base, root in (("", ""), ("https://the.book/x", "https://the.book/x/")):
        config = SimpleNamespace(html_title="The <Book>", html_baseurl=base)
        sphinx_cover.write_files(Mock(spec=Sphinx, outdir=tmp_path, config=config))
        page = soup((tmp_path / "404.html").read_text("utf-8"))
        assert page.select_one("main a")["href"] == f"{root}index.html"
        assert page.select_one("form")["action"] == f"{root}search.html"
        assert "The <Book>" in page.title.get_text()
        assert (tmp_path / preview.PICTURE).is_file() is bool(base)


# The rendered pages.


class Lost(Quiet):
    """A server that returns 404.html for a missing page, as web sites do, some of them with status 200."""

    def send_error(self, code: int, *args: object) -> None:
        page = (HTML / "404.html").read_bytes()
        self.send_response(200 if "old" in self.path else code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(page)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, book: str) -> Iterator[str]:
    """Serve the book below a folder, like a GitHub project page, and yield its address."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "project").symlink_to(HTML, target_is_directory=True)
    with serving(folder, Lost) as address:
        yield f"{address}project/"


def lit(page: Page) -> dict[str, str]:
    """Return the English words with a visible weight, and their weights."""
    return dict(
        page.evaluate(
            "[...document.querySelectorAll('.at-alignment-keys li')]"
            ".map(k => ['b', 'i'].map(part => k.querySelector(part).textContent)).filter(k => k[1])"
        )
    )


@pytest.mark.page
@pytest.mark.parametrize("width", [360, 1280])
def test_law_each_heading_of_the_cover_stands_above_its_text(open_page, width):
    page = open_page("index.html", viewport={"width": width, "height": 900})
    boxes = page.eval_on_selector_all(
        ".at-cover-ways :is(dt, dd)",
        "all => all.map(x => x.getBoundingClientRect()).map(box => [box.left, box.top, box.bottom])",
    )
    assert len({left for left, _, _ in boxes}) == (1 if width == 360 else 2)
    for heading, text in zip(boxes[::2], boxes[1::2], strict=True):
        assert heading[0] == text[0]
        assert abs(heading[2] - text[1]) < 2


@pytest.mark.page
def test_law_the_picture_responds_to_mouse_keyboard_and_touch(open_page):
    page = open_page("index.html", has_touch=True)
    words = page.locator("button.at-alignment-word")

    def hover_and_leave() -> None:
        words.nth(0).hover()
        eventually(lambda: lit(page) == MORGEN, False)
        page.mouse.move(0, 0)
        eventually(lambda: lit(page), MORGEN)

    assert words.count() == len(DATA["target"])
    assert lit(page) == MORGEN
    hover_and_leave()
    words.nth(4).focus()
    page.keyboard.press("ArrowDown")
    assert lit(page) == MORGEN
    hover_and_leave()  # the focused word stays chosen, also for the explorer
    assert page.locator(".at-alignment-more a").get_attribute("href").endswith("&step=5")
    for keys, text in (
        ("", "morgen attends to “tomorrow” 88%"),
        ("End ArrowDown", ". (period) attends to"),  # focus stays
        ("Home", "Ich"),
    ):
        for key in keys.split():
            page.keyboard.press(key)
        assert page.evaluate("document.activeElement.textContent").startswith(text)
    assert page.locator(".at-alignment [tabindex='0']").count() == 1
    page.keyboard.press("Escape")
    assert lit(page) == {}
    words.nth(5).tap()
    eventually(lambda: lit(page), MORGEN)
    page.locator(".at-cover-start a").focus()
    assert lit(page) == MORGEN  # as the page opens


BOXES = """() => {
  const box = (element) => element.getBoundingClientRect();
  const seen = [...document.querySelectorAll(".at-alignment li b, .at-alignment-word")].map(box);
  const beside = (a, b) => a.right < b.left + 1 || a.bottom < b.top + 1;
  const inside = (a, b) => !beside(a, b) && !beside(b, a);
  return {
    overlaps: seen.filter((a, i) => seen.some((b, j) => i < j && inside(a, b))).length,
    curves: Math.max(...[...document.querySelectorAll(".at-alignment svg")].map((x) => box(x).width)),
    bottom: box(document.querySelector(".at-alignment-picture")).bottom,
    wide: document.documentElement.scrollWidth,
  };
}"""


@pytest.mark.page
def test_law_the_picture_fits_at_any_width_and_no_word_overlaps(open_page):
    page = open_page("index.html")
    page.evaluate("document.fonts.ready")
    for width in (360, 390, 768, 801, 1100, 1280, 1920):
        page.resize(width=width, height=800)
        found = page.evaluate(BOXES)
        assert found["overlaps"] == 0, width
        assert found["wide"] <= width
        assert found["curves"] >= (100 if width < 400 else 0.5 * width if width < 992 else 400), width
        assert found["bottom"] <= (1200 if width <= 800 else 800), width  # on a laptop, in the first screen


@pytest.mark.page
@pytest.mark.parametrize("name", ["index.html", "404.html", "search.html?q=mask"])
def test_law_the_front_pages_are_accessible_in_light_and_dark_mode(open_page, name):
    size = {"width": 360, "height": 780}
    page = open_page(name, viewport=size, reduced_motion="reduce", color_scheme="light")
    if name == "index.html":
        page.locator("button.at-alignment-word").nth(5).focus()  # highlighted: the least legible state
    elif "search" in name:
        page.wait_for_selector("ul.search li")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("[undefined, 'dark'].includes(document.documentElement.dataset.theme)")
    assert violations(page, contrast_only=True) == []


@pytest.mark.page
@pytest.mark.parametrize("name", ["index", "chapters/06_masking"])
def test_law_the_sidebar_of_each_page_lists_all_chapters_in_order(name: str):
    page = soup((HTML / f"{name}.html").read_text(encoding="utf-8"))
    lines = [line.get_text().strip() for line in page.select(".bd-sidebar-primary li.toctree-l1")]
    wanted = [f"{c.number}. {c.title}{'' if c.file else ' (planned)'}" for c in CHAPTERS]
    assert [line for line in lines if line in wanted] == wanted
    assert page.select(".bd-sidebar-primary li.at-planned a") == []
    parts = dict.fromkeys(chapter.part for chapter in CHAPTERS)
    captions = [caption.get_text().strip() for caption in page.select(".bd-sidebar-primary .caption")]
    assert [caption for caption in captions if caption in parts] == list(parts)


@pytest.mark.page
def test_law_every_page_has_link_preview_metadata():
    titles = []
    for file in sorted(HTML.rglob("*.html")):
        if file.name == "404.html" or "_static" in file.parts:
            continue
        page = soup(file.read_text(encoding="utf-8").partition("</head>")[0])
        said = {tag["property"]: tag["content"] for tag in page.select("meta[property]")}
        assert set(said) == {"og:type", "og:site_name", "og:title", "og:description"}, file  # no base URL yet
        assert said["og:description"] == page.select_one("meta[name=description]")["content"], file
        assert page.select("link[rel=canonical]") == [], file
        titles.append(said["og:title"])
    named = [title for title in titles if title != "The Annotated Transformer"]  # the cover, the indexes
    assert len(set(named)) == len(named) > 10
    assert "6. Masking decides which query may attend to which key" in titles


@pytest.mark.page
def test_law_the_404_page_leads_to_the_cover_and_the_search(open_page, site):
    page = open_page()
    for lost in ("nowhere.html", "chapters/06_masks/old/?x=1", "chapters/06_causal_masks.html"):
        page.goto(site + lost)
        eventually(lambda: page.locator("main a").evaluate("link => link.href"), f"{site}index.html")
    assert page.locator("input").input_value() == "causal masks"
    page.locator("input").fill("mask")
    page.get_by_role("button").click()
    page.wait_for_url(f"{site}search.html?q=mask")
