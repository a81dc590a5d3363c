"""Rendered pages have the required metadata, working links, and legible colors."""

import functools
import io
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock
from urllib.parse import unquote, urljoin, urlparse

import lxml.html
import pytest
from docutils import nodes
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

import annotated_transformer
from builder.chapters import read_chapters
from builder.site.rendering import docstrings, fonts, formulas, questions
from tests.explorer_pages import DOCUMENTS, HTML, ROOT

PAGES = ["search", "genindex", "py-modindex", *DOCUMENTS]
SITE = "https://the.book/"
APP = Mock(spec=Sphinx)


# The API reference.

# Rooms have a directive; `python -m` is documented by its --help.
WITHOUT_REFERENCE = re.compile(
    r"annotated_transformer\.book\.(chapters\.[\w.]+|from_scratch\.\w+|grading|explorer\.(?!figure|frame)\w+)"
)


def test_law_every_module_has_its_reference_and_nothing_else_has():
    found = pkgutil.walk_packages(annotated_transformer.__path__, "annotated_transformer.")
    names = {module.name for module in found if not module.ispkg}
    pages = "\n".join(page.read_text("utf-8") for page in (ROOT / "chapters" / "api").glob("*.md"))
    documented = re.findall(r"automodule:: (\S+)", pages)
    assert sorted(documented) == sorted(name for name in names if not WITHOUT_REFERENCE.fullmatch(name))


@pytest.mark.page
def test_law_the_reference_has_each_check_of_the_rooms():
    paths = (ROOT / "annotated_transformer").glob("book/chapters/*/exercises.py")
    checks = {
        ".".join([*path.relative_to(ROOT).with_suffix("").parts, name])
        for path in paths
        for name in re.findall(r"^def (check_\w+)", path.read_text("utf-8"), re.MULTILINE)
    }
    assert len(checks) > 100
    assert checks - set(seen("chapters/api/book")["id"]) == set()


def test_law_every_page_that_is_written_is_in_the_table_of_contents():
    patterns = ("index.md", "explorer.md", "chapters/*.md", "chapters/*.ipynb", "chapters/api/*.md")
    written = [path for pattern in patterns for path in ROOT.glob(pattern)]
    handbooks = [f"handbook/{chapter.name}" for chapter in read_chapters(ROOT)]
    assert sorted([str(path.relative_to(ROOT).with_suffix("")) for path in written] + handbooks) == sorted(
        DOCUMENTS
    )


# The Sphinx extension.


def test_law_markdown_formulas_in_docstrings_become_math_roles():
    lines = [r"Return $\sqrt{d_k}$ and $Q", r"K^\top$."]
    docstrings.markdown_math(APP, "function", "f", None, None, lines)
    assert lines == [r"Return :math:`\sqrt{d_k}` and :math:`Q", r"K^\top`."]


def test_law_a_question_is_folded_together_with_its_whole_answer():
    def asked(question: str, answer: str) -> nodes.paragraph:
        bold = nodes.strong("", question)
        return nodes.paragraph("", "", nodes.Text(""), bold, nodes.Text(answer))

    title, first = nodes.title("", "Questions"), nodes.paragraph("", "Before.")
    cell = nodes.container("", nodes.paragraph("", "A cell."))
    found = questions.folded([title, first, asked("Why?", " So."), cell, asked("How?", " Thus.")])
    assert found[:2] == [title, first]
    assert [questions.is_question(node) for node in found[2:]] == [True] * 2
    why, how = found[2:]
    assert [node.astext() for node in why.children] == ["Why?", "So.", "A cell."]
    assert [node.astext() for node in how.children] == ["How?", "Thus."]
    assert (why["ids"], how["ids"]) == (["asked-why"], ["asked-how"])


# Formulas and fonts.


def test_law_the_style_sheet_of_formulas_depends_only_on_the_formulas():
    wanted = {("Q", False), (r"\frac{a}{b}", True)}
    first = formulas.style_sheet(wanted)
    formulas.style_sheet({(r"\mathbb{R}^n", False)})
    assert formulas.style_sheet(wanted) == first
    assert "mjx-c1D444" in first
    assert "mjx-c211D" not in first  # R of the real numbers


def test_law_only_the_fonts_and_glyphs_in_use_are_included():
    def files(tex: str, display: bool) -> dict[str, bytes]:
        return fonts.style_with_fonts(
            formulas.style_sheet({(tex, display)}), formulas.set_formula(tex, display)
        )

    found = files("Q", False)
    used = ("Zero", "Main-Regular", "Math-Italic")
    assert set(found) == {"formulas.css", *(f"MathJax_{name}.woff" for name in used)}
    letters = TTFont(io.BytesIO(found["MathJax_Math-Italic.woff"])).getBestCmap()
    assert {ord("Q"), ord("K")} & set(letters) == {ord("Q")}
    brace = r"\underbrace{a + b + c + d + e}_{n}"
    assert "MathJax_Size4-Regular.woff" in files(brace, True)  # its rule names elements, not a class


@pytest.mark.message
def test_message_a_wrong_formula_is_named_with_its_page_and_what_is_wrong():
    app = SimpleNamespace(doctreedir="/nowhere", builder=SimpleNamespace(current_docname="chapters/x"))
    writer = SimpleNamespace(builder=SimpleNamespace(current_docname="chapters/x", app=app), body=[])
    named = r"chapters/x: the formula '.*foo.*' cannot be set: Undefined control .*foo"
    with pytest.raises(ExtensionError, match=named):
        formulas.write_formula(writer, nodes.math("", r"\foo"), r"\foo", False)
    with pytest.raises(ValueError, match="Missing close brace"):
        formulas.set_formula(r"\frac{a", True)


def test_law_blank_lines_separate_equations_and_double_backslashes_break_lines():
    assert formulas.display_tex("a\n\nb") == r"\begin{align}\begin{aligned}a\\b\end{aligned}\end{align}"
    assert formulas.display_tex(r"a \\ b") == r"\begin{split}a \\ b\end{split}"
    assert formulas.display_tex("a") == "a"


# The rendered pages, as files.


def read(page: str) -> dict[str, list[str]]:
    """Return the titles, descriptions, language, ids, links, other addresses, and formulas of a page."""
    root = lxml.html.document_fromstring(page)
    return {
        "title": [title.text_content().strip() for title in root.xpath("head/title")],
        "description": [meta.get("content") for meta in root.xpath("//meta[@name='description']")],
        "language": [root.get("lang", "")],
        "id": [str(name) for name in root.xpath("//@id | //*[not(self::meta)]/@name")],
        "link": [str(link) for link in root.xpath("//a/@href")],
        "resource": [str(address) for address in root.xpath("//@src | //@srcset | //*[not(self::a)]/@href")],
        "formula": [part.tag for part in root.find_class("math")],
    }


@functools.cache
def text_of(name: str) -> str:
    assert (HTML / "index.html").is_file(), f"{HTML} holds no book; run `make book` first"
    return (HTML / f"{name}.html").read_text(encoding="utf-8")


@functools.cache
def seen(name: str) -> dict[str, list[str]]:
    return read(text_of(name))


@pytest.mark.page
@pytest.mark.parametrize("name", PAGES)
def test_law_a_page_says_what_it_is_leads_somewhere_needs_no_other_site_and_has_unique_ids(name):
    page, text = seen(name), text_of(name)
    (title,), (description,) = page["title"], page["description"]
    assert title.strip(" —-")
    assert len(description) >= 40
    assert page["language"] == ["en"]
    assert dead_links(name, page) == []
    assert [link for link in page["resource"] if urlparse(link).scheme in {"http", "https"}] == []
    assert re.findall(r"cdn\.|jsdelivr|unpkg|thebe", text, re.IGNORECASE) == []
    assert ("_static/formulas/MathJax_" in text.partition("</head>")[0]) == bool(page["formula"])
    assert {id for id, count in Counter(page["id"]).items() if count > 1} <= {"q"}  # of the search fields


@pytest.mark.page
def test_law_no_two_pages_have_the_same_title_and_only_some_have_formulas():
    titles = [seen(name)["title"][0] for name in PAGES if name != "index"]
    assert len(set(titles)) == len(titles)
    assert {bool(seen(name)["formula"]) for name in PAGES} == {True, False}


def dead_links(name: str, page: dict[str, list[str]]) -> list[str]:
    dead = []
    for link in {*page["link"], *page["resource"]}:
        target = urlparse(urljoin(f"{SITE}{name}.html", link))
        if not target.geturl().startswith(SITE):
            continue
        path, anchor = unquote(target.path).lstrip("/"), unquote(target.fragment)
        linked = path.removesuffix(".html")
        anchors = seen(linked)["id"] if anchor and linked in PAGES else [anchor]
        if not (HTML / path).is_file() or anchor not in anchors:
            dead.append(link)
    return dead


@pytest.mark.page
def test_law_a_dead_link_is_found():
    for link in ("nowhere.html", "chapters/notation.html#nowhere", "_static/nowhere.js"):
        assert dead_links("faulty", read(f"<a href='{link}'>x</a>")) == [link]
    assert any("#" in link and link != "#" for link in seen("index")["link"])


@pytest.mark.page
@pytest.mark.parametrize("name", [name for name in DOCUMENTS if re.match(r"chapters/\d\d_", name)])
def test_law_equations_and_exercises_are_numbered_by_chapter(name):
    chapter = int(name[9:11])
    for pattern in (r'class="eqno">\(([\d.]+)\)', r'class="caption-number">Exercise ([\d.]+) <'):
        found = re.findall(pattern, text_of(name))
        assert found == [f"{chapter}.{place}" for place in range(1, len(found) + 1)]
        assert found


@pytest.mark.page
@pytest.mark.slow
def test_law_rendering_twice_gives_the_same_book(tmp_path: Path):
    tool = str(Path(sys.executable).with_name("jupyter-book"))
    command = [tool, "build", ".", "--path-output", str(tmp_path), "-W", "-n", "--keep-going"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    again = tmp_path / "_build" / "html"
    names = [f"{name}.html" for name in PAGES]

    def page(path: Path) -> str:
        """Read a page without the checksums that are added to URLs if the folder already contained a book."""
        return re.sub(r"\?v=[0-9a-f]{8}", "", path.read_text(encoding="utf-8"))

    changed = [name for name in names if page(again / name) != page(HTML / name)]
    assert changed == [], "rendered otherwise than _build/html; if a source changed since, run `make book`"
