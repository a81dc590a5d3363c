"""The rendered book's frame: what each page must carry, where links lead, which colours can be read."""

import html.parser
import pkgutil
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock
from urllib.parse import unquote, urljoin, urlparse

import pytest
import yaml
from docutils import nodes
from sphinx.application import Sphinx

import annotated_transformer
from annotated_transformer.book import palette, sphinx_extension

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
DOCUMENTS = [TOC["root"], *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"])]
PAGES = ["index", "search", "genindex", "py-modindex", *DOCUMENTS]
CSS = (ROOT / "annotated_transformer" / "book" / "static" / "book.css").read_text(encoding="utf-8")
SITE = "https://the.book/"
APP = Mock(spec=Sphinx)


# The package has its reference.

# Sphinx calls it, no reader does; and `python -m` is described by its --help.
WITHOUT_REFERENCE = {"annotated_transformer.book.sphinx_extension"}


def modules() -> set[str]:
    """Return the name of every module of the package that defines something public."""
    found = pkgutil.walk_packages(annotated_transformer.__path__, "annotated_transformer.")
    return {module.name for module in found if not module.ispkg}


def test_law_every_module_has_its_reference_and_nothing_else_has():
    pages = (ROOT / "chapters" / "api").glob("*.md")
    documented = re.findall(
        r"automodule:: (\S+)", "\n".join(page.read_text(encoding="utf-8") for page in pages)
    )
    assert sorted(documented) == sorted(modules() - WITHOUT_REFERENCE)
    assert modules() >= WITHOUT_REFERENCE


def test_law_every_page_that_is_written_is_in_the_table_of_contents():
    chapters = ROOT / "chapters"
    written = [*chapters.glob("*.md"), *chapters.glob("*.ipynb"), *chapters.glob("api/*.md")]
    assert sorted(str(path.relative_to(ROOT).with_suffix("")) for path in written) == sorted(DOCUMENTS)


def test_law_the_preface_links_the_chapters_that_are_finished_and_no_others():
    preface = (ROOT / "chapters" / "preface.md").read_text(encoding="utf-8")
    finished = [path.stem for path in sorted((ROOT / "chapters").glob("*.ipynb"))]
    assert sorted(re.findall(r"\{doc\}`[^`<]*<(\w+)>`", preface)) == finished


# Colours.


def variables(theme: str) -> dict[str, str]:
    """Return the colours that book.css gives to our variables in a theme."""
    block = re.search(rf'html\[data-theme="{theme}"\] \{{\n  --at-paper[^}}]*', CSS)[0]
    return dict(re.findall(r"(--at-[\w-]+): (#\w{6});", block))


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG 2 defines it, from 1 to 21."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_law_contrast_is_measured_as_the_standard_says():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#ffffff", "#777777") == pytest.approx(4.48, abs=0.01)  # known to fail 4.5 by a little


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_law_words_can_be_read_and_shapes_be_seen(theme: str):
    colours = variables(theme)
    roles = {f"--at-{role}" for role in ("query", "key", "value", "output")}
    words = {"--at-ink", "--at-muted", "--at-link", *(f"{role}-text" for role in roles)}
    assert words | roles < set(colours)
    for ground in ("--at-paper", "--at-card"):
        for word in words:
            assert contrast(colours[word], colours[ground]) >= 4.5, f"{word} on {ground}"
    for role in roles:
        assert contrast(colours[role], colours["--at-paper"]) >= 3, role


def test_law_figures_and_pages_share_their_colours():
    light = {name: colour.lower() for name, colour in variables("light").items()}
    drawn = {variable: colour.lower() for colour, variable in palette.THEMED.items()}
    drawn |= {
        f"--at-{role.lower()}": getattr(palette, role).lower() for role in ("QUERY", "KEY", "VALUE", "OUTPUT")
    }
    paper = drawn.pop("--at-paper"), light.pop("--at-paper")
    assert {name: light[name] for name in drawn} == drawn
    assert contrast(*paper) < 1.05  # paper differs by a shade that nobody sees; palette says why


# The Sphinx extension.


def paragraphs(*texts: str) -> nodes.document:
    """Return a page of paragraphs."""
    page = nodes.document(None, None)
    page += [nodes.paragraph(text, text) for text in texts]
    return page


def test_law_a_page_is_described_by_its_first_real_paragraph():
    long = "word " * 100
    describe = sphinx_extension.first_paragraph
    assert describe(paragraphs("short", "Long enough to describe\n what this page is about.")) == (
        "Long enough to describe what this page is about."
    )
    assert len(describe(paragraphs(long))) <= 300
    assert describe(paragraphs(long)).endswith("word…")
    assert describe(None) == describe(paragraphs("short")) == sphinx_extension.DESCRIPTION


def test_law_a_description_cannot_break_out_of_its_attribute():
    context: dict[str, str] = {}
    page = paragraphs('He said "attention", and <this> is all that you need to know.')
    sphinx_extension.describe_page(APP, "x", "page.html", context, page)
    assert 'content="He said &quot;attention&quot;, and &lt;this&gt; is' in context["metatags"]


def test_law_docstrings_are_read_as_markdown_writes_them():
    lines = [r"Return $\sqrt{d_k}$ and $Q", r"K^\top$."]
    sphinx_extension.markdown_math(APP, "function", "f", None, None, lines)
    assert lines == [r"Return :math:`\sqrt{d_k}` and :math:`Q", r"K^\top`."]


@pytest.mark.parametrize(("what", "kept"), [("data", True), ("function", False)])
def test_law_a_constant_keeps_the_words_before_its_colon(what: str, kept: bool):
    lines = ["the numbers.", "", ":type: Table 3"]
    sphinx_extension.keep_colons(APP, what, "BASE", None, None, lines)
    assert (lines == ["Table 3: the numbers.", ""]) is kept


def test_law_what_is_no_list_is_not_announced_as_one():
    context = {
        "body": '<dt><b>f</b>(<dl>\n<dd>a,</dd>\n<dd>b,</dd>\n</dl>\n)</dt><dl class="x"><dd>c</dd></dl>'
    }
    sphinx_extension.mend_lists(APP, "x", "page.html", context, None)
    assert context["body"] == (
        '<dt><b>f</b>(<span class="at-parameters"><span>a,</span>\n<span>b,</span>\n</span>\n)</dt>'
        '<dl class="x"><dd>c</dd></dl>'
    )


def test_law_a_failed_build_leaves_no_start_page(tmp_path: Path):
    config = SimpleNamespace(root_doc="chapters/preface", html_title="The <Book>")
    app = Mock(spec=Sphinx, outdir=tmp_path, builder=SimpleNamespace(format="html"), config=config)
    sphinx_extension.write_start_page(app, ValueError("no"))
    assert not (tmp_path / "index.html").exists()
    sphinx_extension.write_start_page(app, None)
    assert '<a href="chapters/preface.html">The &lt;Book&gt;</a>' in (tmp_path / "index.html").read_text(
        "utf-8"
    )


# The rendered pages, as files.


class Reader(html.parser.HTMLParser):
    """What a page says of itself: its title, description, language, the ids in it, and where it leads."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: dict[str, list[str]] = defaultdict(list)
        self.open = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.open = tag
        self.seen["id"] += [given[name] for name in ("id", "name") if name in given]
        if tag == "meta" and given.get("name") == "description":
            self.seen["description"].append(given["content"])
        if tag == "html":
            self.seen["language"].append(given.get("lang", ""))
        if tag == "a" and "href" in given:
            self.seen["link"].append(given["href"])
        elif tag != "a":
            self.seen["resource"] += [given[name] for name in ("src", "href", "srcset") if name in given]
        if tag == "script":
            self.seen["script"].append(given.get("src", ""))
        if "math" in given.get("class", "").split():
            self.seen["formula"].append(tag)

    def handle_data(self, data: str) -> None:
        if self.open == "title":
            self.seen["title"].append(data.strip())
            self.open = ""


@pytest.fixture(scope="module")
def pages() -> dict[str, dict[str, list[str]]]:
    assert (HTML / "index.html").is_file(), f"{HTML} holds no book; run `make book` first"
    return {
        f"{name}.html": Reader((HTML / f"{name}.html").read_text(encoding="utf-8")).seen for name in PAGES
    }


@pytest.mark.page
def test_law_a_page_has_a_title_a_description_and_a_language(pages):
    for name, seen in pages.items():
        assert len(seen["title"]) == 1, f"{name}: {seen['title']}"
        assert seen["title"][0].strip(" —-"), name
        assert len(seen["description"]) == 1, f"{name}: {seen['description']}"
        assert len(seen["description"][0]) >= 40, f"{name}: {seen['description']}"
        assert seen["language"] == ["en"], name
    titles = [seen["title"][0] for name, seen in pages.items() if name != "index.html"]
    assert len(set(titles)) == len(titles)


def dead_links(pages: dict[str, dict[str, list[str]]]) -> list[str]:
    """Return the links that lead to no page, no file or no place on the page."""
    dead = []
    for name, seen in pages.items():
        for link in {*seen["link"], *seen["resource"]}:
            target = urlparse(urljoin(SITE + name, link))
            if not target.geturl().startswith(SITE):
                continue
            path, anchor = unquote(target.path).lstrip("/"), unquote(target.fragment)
            found = pages.get(path)
            if found is None and not (HTML / path).is_file():
                dead.append(f"{name}: {link}")
            if found is not None and anchor and anchor not in found["id"]:
                dead.append(f"{name}: {link}")
    return dead


@pytest.mark.page
def test_law_every_link_leads_somewhere(pages):
    assert dead_links(pages) == []
    assert any("#" in link and link != "#" for seen in pages.values() for link in seen["link"])


@pytest.mark.page
@pytest.mark.parametrize("link", ["nowhere.html", "chapters/notation.html#nowhere", "_static/nowhere.js"])
def test_law_a_dead_link_is_found(pages, link: str):
    faulty = {**pages, "faulty.html": Reader(f"<a href='{link}'>x</a>").seen}
    assert dead_links(faulty) == [f"faulty.html: {link}"]


@pytest.mark.page
def test_law_pages_name_no_other_site_but_in_links(pages):
    for name, seen in pages.items():
        assert [link for link in seen["resource"] if urlparse(link).scheme in {"http", "https"}] == [], name
        text = (HTML / name).read_text(encoding="utf-8")
        assert re.findall(r"cdn|jsdelivr|unpkg|thebe", text, re.IGNORECASE) == [], name


@pytest.mark.page
def test_law_types_are_shown_by_their_last_names():
    signatures = "".join(page.read_text(encoding="utf-8") for page in (HTML / "chapters/api").glob("*.html"))
    assert "Transformer" in signatures
    assert re.findall(r"~\w+\.[\w.]*", signatures) == []


@pytest.mark.page
def test_law_only_pages_with_formulas_load_what_sets_them(pages):
    loads = {name: any("mathjax" in script for script in seen["script"]) for name, seen in pages.items()}
    assert loads == {name: bool(seen["formula"]) for name, seen in pages.items()}
    assert set(loads.values()) == {True, False}


@pytest.mark.page
def test_law_every_chapter_has_a_figure_that_moves():
    chapters = [name for name in DOCUMENTS if re.match(r"chapters/\d\d_", name)]
    still = [
        name for name in chapters if "at-slider" not in (HTML / f"{name}.html").read_text(encoding="utf-8")
    ]
    assert chapters
    assert still == []


@pytest.mark.page
def test_law_the_same_book_is_rendered_twice(tmp_path: Path):
    tool = str(Path(sys.executable).with_name("jupyter-book"))
    command = [tool, "build", ".", "--path-output", str(tmp_path), "-W", "-n", "--keep-going"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    again = tmp_path / "_build" / "html"
    names = [f"{name}.html" for name in PAGES]

    def page(path: Path) -> str:
        """Read a page, less the checksums that addresses get where the folder held a book before."""
        return re.sub(r"\?v=[0-9a-f]{8}", "", path.read_text(encoding="utf-8"))

    changed = [name for name in names if page(again / name) != page(HTML / name)]
    assert changed == [], "rendered otherwise than _build/html; if a source changed since, run `make book`"
