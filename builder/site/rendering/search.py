"""The index of the search: the text of each section, in a script, which also loads from a file address."""

import json
import re
from pathlib import Path
from typing import cast

import lxml.html
from lxml.etree import iterwalk
from lxml.html import HtmlElement
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.search.en import js_porter_stemmer

from builder.handbook import FOLDER
from builder.site.rendering.plain_math import formula_text

# Not searched: code of cells and what it printed, results for the tests, and hints and solutions.
NO_TEXT = {"script", "style", "svg", "button", "nav", "mjx-math"}
LEFT_OUT = set(
    "headerlink eqno cell_input stream text_plain traceback highlight-python at-on-phone at-evidence "
    "at-page-code at-source at-hint at-of-figure at-whence solution toctree-wrapper".split()
)
BLOCKS = "br dd details div dl dt figcaption figure h1 h2 h3 h4 li p pre section summary td th".split()
HEADS = {"section": ("h1", "h2", "h3"), "details": ("summary",), "div": ("p",)}
MODULE = re.compile(r"^(?:[a-z_]\w*\.)+(?=\w)")  # of Class.method
WEIGHTS = {"section": 1.0, "details": 0.9, "div": 0.6, "dt": 0.8}  # of a question, an exercise, a term
REPLACED = ("searchtools.js", "language_data.js", "sphinx_highlight.js")  # Sphinx's search
EXPLAINS = re.compile(r"/\d\d_|train_and_translate|glossary")
KEPT = {  # characters of a section's text, on pages by the beginning of their names
    f"{FOLDER}/": 500,  # of an entry, which is found by its title
    "chapters/symptoms": 0,  # the entries again
}
Section = tuple[str, str, str, float]  # anchor, title, text, weight


def replace_search(app: Sphinx) -> None:
    """Keep Sphinx from writing its own index, and write its search page from our template."""
    cast(StandaloneHTMLBuilder, app.builder).search = False
    app.config.html_additional_pages["search"] = "search.html"


def plain_text_of(element: HtmlElement) -> str:
    """Return the text of an element with simple spaces and hyphens."""
    return " ".join(element.text_content().replace("\u2011", "-").split())


def sections_of(page: str) -> list[Section]:
    """Return the sections of a page; a question, an exercise, a term, and a name of the package are some."""
    article = lxml.html.fromstring(page).find(".//article")
    walk = iterwalk(article, events=("start",))
    dropped = []
    for _, part in walk:
        if part.tag in NO_TEXT or not LEFT_OUT.isdisjoint(part.get("class", "").split()):
            dropped.append(part)
            walk.skip_subtree()
    for part in dropped:
        part.drop_tree()
    for formula in list(article.iter("math")):
        formula[:], formula.text = [], formula_text(formula)
    for block in article.iter(*BLOCKS):
        block.text, block.tail = f" {block.text or ''}", f" {block.tail or ''}"
    inner_first = reversed(list(article.iter("section", "details", "div", "dt")))
    return [section for section in map(cut_out, inner_first) if section][::-1]


def cut_out(part: HtmlElement) -> Section | None:
    """Take a section out of the page and return it, or return None if the element does not begin one."""
    is_name = part.tag == "dt"
    title = part if is_name else next((head for head in part if head.tag in HEADS[part.tag]), None)
    body = part.getnext() if is_name else part
    anchor, is_box = part.get("id"), part.tag == "div" and "exercise" not in part.classes
    if not anchor or title is None or body is None or is_box:
        return None
    name = plain_text_of(title)
    title.drop_tree()
    text = plain_text_of(body)
    body.drop_tree()
    if "sig" in part.classes:  # its docstring is quoted, and its signature is searched, too
        qualified = MODULE.sub("", anchor)
        name, text = qualified, f"{text} {name.replace(qualified.rpartition('.')[2], '', 1)}"
    return anchor, name, text, WEIGHTS[part.tag]


def write_index(app: Sphinx) -> None:
    """Write the index: pages with their titles and terms, and sections with the numbers of their pages."""
    builder = cast(StandaloneHTMLBuilder, app.builder)
    chapters = {chapter.file: chapter for chapter in app.config.at_chapters}
    pages: list[tuple[str, str, str]] = []
    sections: list[tuple[object, ...]] = []
    for page in sorted(app.env.all_docs):
        chapter = chapters.get(page)
        title = f"{chapter.number}. {chapter.title}" if chapter else app.env.titles[page].astext()
        html = Path(builder.get_outfilename(page)).read_text(encoding="utf-8")
        share = 1 if EXPLAINS.search(page) else 0.6  # other pages list, or are looked up
        length = next((most for begins, most in KEPT.items() if page.startswith(begins)), None)
        for anchor, name, text, weight in sections_of(html):
            sections.append((len(pages), anchor, name, text[:length], share * weight))
        pages.append((builder.get_target_uri(page), title, " · ".join(chapter.terms) if chapter else ""))
    index = json.dumps({"pages": pages, "sections": sections}, ensure_ascii=False, separators=(",", ":"))
    script = f"{js_porter_stemmer}\nconst INDEX = {index};\n"
    Path(app.outdir, "searchindex.js").write_text(script, encoding="utf-8")
    for name in REPLACED:
        Path(app.outdir, "_static", name).unlink(missing_ok=True)
