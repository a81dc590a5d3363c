"""Formulas, typeset while the book is built: MathJax runs here, not in the reader's browser."""

import functools
import json
from pathlib import Path
from typing import Any

from docutils import nodes
from py_mini_racer import MiniRacer
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from builder.site.rendering.equations import for_phone, for_wide
from builder.site.rendering.fonts import style_with_fonts
from builder.site.rendering.vendored import vendored

# What MathJax's files expect of a loader, and of a browser.
LOADER = """
var MathJax = {_: {components: {package: {}, loader: {}, startup: {}}}, config: {}, version: "3.2.2"};
"""
PRELUDE = LOADER + "var window = this, global = this, console = {log() {}, warn() {}, error() {}};\n"
RECORD = "formulas.json"  # beside the doctrees: the formulas of each page, for incremental builds


@functools.cache
def engine() -> MiniRacer:
    """Return a JavaScript engine that has loaded MathJax."""
    racer = MiniRacer()
    racer.eval(PRELUDE)
    scripts = [path for name, path in vendored("mathjax").items() if name.endswith(".js")]
    for script in (*scripts, Path(__file__).with_name("mathjax_setter.js")):
        racer.eval(script.read_text(encoding="utf-8") + "\n;undefined")
    return racer


@functools.cache
def set_formula(tex: str, display: bool) -> str:
    """Return a formula as HTML, with MathML for screen readers.

    Raises:
        ValueError: MathJax does not understand the formula.
    """
    answer = json.loads(str(engine().eval(f"setFormula({json.dumps(tex)}, {json.dumps(display)})")))
    if "error" in answer:
        raise ValueError(answer["error"])
    return str(answer["html"])


@functools.cache
def formula_width(tex: str) -> float:
    """Return the width of a displayed formula in em; that of one that MathJax does not understand is 0."""
    return float(str(engine().eval(f"formulaWidth({json.dumps(display_tex(tex))})")))


def style_sheet(formulas: set[tuple[str, bool]]) -> str:
    """Return the style sheet that all these formulas together need."""
    return str(engine().eval(f"styleSheet({json.dumps(sorted(formulas))})"))


def display_tex(tex: str) -> str:
    """Return a displayed formula as Sphinx reads it: blank lines separate equations."""
    parts = [part for part in tex.split("\n\n") if part.strip()]
    parts = [rf"\begin{{split}}{part}\end{{split}}" if r"\\" in part else part for part in parts]
    if len(parts) > 1:
        return r"\begin{align}\begin{aligned}" + r"\\".join(parts) + r"\end{aligned}\end{align}"
    return "".join(parts)


def write_formula(writer: Any, node: nodes.Element, tex: str, display: bool) -> None:
    """Typeset a formula in the page that is being written, and record that the page has it.

    Raises:
        ExtensionError: The formula is wrong; the message names the page and the formula.
    """
    page = writer.builder.current_docname
    try:
        writer.body.append(set_formula(tex, display))
    except ValueError as error:
        raise ExtensionError(f"{page}: the formula {node.astext()!r} cannot be set: {error}") from None
    record(writer.builder.app)[page].append([tex, display])


def record(app: Sphinx) -> dict[str, list[Any]]:
    """Return the formulas of each page, those of earlier builds included."""
    formulas: dict[str, list[Any]] | None = getattr(app, "at_formulas", None)
    if formulas is None:
        file = Path(app.doctreedir, RECORD)
        formulas = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        app.at_formulas = formulas  # type: ignore[attr-defined]
    formulas.setdefault(app.builder.current_docname, [])  # type: ignore[attr-defined]
    return formulas


def forget_page(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Forget the formulas of a page that is about to be written again."""
    if app.builder.format == "html":  # the builder that checks links writes no page
        record(app)[page] = []


def visit_inline(writer: Any, node: nodes.math) -> None:
    """Write a formula within a sentence."""
    writer.body.append(writer.starttag(node, "span", "", CLASS="math notranslate nohighlight"))
    write_formula(writer, node, node.astext(), display=False)
    writer.body.append("</span>")
    raise nodes.SkipNode


def visit_display(writer: Any, node: nodes.math_block) -> None:
    """Write a formula that has its own line, with its number if it has one."""
    writer.body.append(writer.starttag(node, "div", CLASS="math notranslate nohighlight"))
    if node["number"]:
        writer.body.append(f'<span class="eqno">({node["number"]})')
        writer.add_permalink_ref(node, "Link to this equation")
        writer.body.append("</span>")
    wide, phone = (layout(node.astext(), formula_width) for layout in (for_wide, for_phone))
    both = {"at-set": wide} if wide == phone else {"at-set at-on-wide": wide, "at-set at-on-phone": phone}
    for kind, tex in both.items():
        writer.body.append(f'<div class="{kind}" style="--at-em: {formula_width(tex):.1f}">')
        write_formula(writer, node, tex if node["nowrap"] else display_tex(tex), display=True)
        writer.body.append("</div>")
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def write_style_sheet(app: Sphinx) -> None:
    """Write the style sheet and the fonts that the book's formulas need."""
    pages = {page: page_formulas for page, page_formulas in record(app).items() if page in app.env.all_docs}
    Path(app.doctreedir, RECORD).write_text(json.dumps(pages, sort_keys=True), encoding="utf-8")
    formulas = {(tex, display) for page_formulas in pages.values() for tex, display in page_formulas}
    html = "".join(set_formula(*formula) for formula in sorted(formulas))
    target = Path(app.outdir, "_static", "formulas")
    target.mkdir(parents=True, exist_ok=True)
    for name, content in style_with_fonts(style_sheet(formulas), html).items():
        (target / name).write_bytes(content)
