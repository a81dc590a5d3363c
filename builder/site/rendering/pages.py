"""Changes to each page's HTML: description, scripts, lists, folds, and line breaks."""

import html
import itertools
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

DESCRIPTION = (
    "The Transformer of 'Attention Is All You Need', explained by code that runs and claims that are checked."
)
SIGNATURE_LINES = re.compile(r"<dl>\s*((?:<dd>.*?</dd>\s*)+)</dl>", re.DOTALL)
BIBLIOGRAPHY_LABEL = re.compile(
    r'(role="doc-biblioentry">\s*)<span class="label">.*?</span>\s*(?=<p>)', re.DOTALL
)

FOLD = re.compile(
    r'<summary aria-label="Toggle hidden content">.*?(source|content|output)</p>\s*</summary>', re.DOTALL
)
TITLE = re.compile(r"(?<=<h1>)[^<]+")
IN_PARENTHESES = re.compile(
    r'(\(<span id="[^"]*">)\[(<a [^>]*bibliography\.html#[^>]*>(?:(?!</a>).)*</a>)\](</span>[),;])',
    re.DOTALL,
)
ONE_LINE = re.compile(r'(highlight-myst-ansi notranslate"><div class="highlight"><pre)(?=>[^\n]*\n?</pre>)')
QUESTION = re.compile(r"(</h1>\s*)<p>(?=<strong>)")
MOVERS = re.compile(r"<script>\n(// (?:Turns each figure|Lets the attention maps).*?)</script>", re.DOTALL)
WHEN_IDLE = "const move = () => {\n%s};\n(window.requestIdleCallback ?? setTimeout)(move);\n"
SET = "</mjx-container></span>"
FORMULA = rf'<span class="math notranslate nohighlight"[^>]*>(?:(?!{SET}).)*{SET}'
TOUCHING = re.compile(rf"[(\[“]{FORMULA}[.,;:!?)\]”’]*|{FORMULA}[.,;:!?)\]”’]+", re.DOTALL)
TABLE = re.compile(r"<table class.*?</table>", re.DOTALL)
CODE = re.compile(r'(?<=<span class="pre">)([^<]*)(?=</span>)')
BREAKS_BEYOND = 12  # letters
HEAD = re.compile(r'<th class="head[^>]*><p>(.*?)</p></th>', re.DOTALL)
PART = re.compile(r"<(table|thead|tbody|tr|th|td)\b")
ROLES = {"thead": "rowgroup", "tbody": "rowgroup", "tr": "row", "th": "columnheader", "td": "cell"}
CELL = '<div class="cell '
FIGURE = '<figure class="at-figure'

# Scripts that a page needs only if its body contains this text. Scripts that can wait are deferred.
NEEDS = {
    "clipboard.min.js": "highlight",
    "copybutton.js": "highlight",
    "togglebutton.js": "dropdown",
    "design-tabs.js": "sd-tab-set",
}
DEFERRED = {*NEEDS, "doctools.js", "sphinx_highlight.js", "sphinx-book-theme.js"}


def first_paragraph(doctree: nodes.document | None) -> str:
    """Return the page's first paragraph as one line of at most 300 characters, or the book's description."""
    if doctree is None:
        return DESCRIPTION
    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if len(text) >= 40:
            return text if len(text) <= 300 else text[:299].rsplit(" ", 1)[0] + "…"
    return DESCRIPTION


def describe_page(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give every page a description, for search engines and link previews."""
    content = html.escape(first_paragraph(doctree), quote=True)
    context["metatags"] = context.get("metatags", "") + f'<meta name="description" content="{content}" />\n'


def mend_lists(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Remove list markup from what is not a list, so that a screen reader does not announce a broken one.

    Sphinx writes a signature's lines as definitions without terms; bibtex's list has links between its items,
    and labels that the book, which cites by author and year, never uses.
    """
    body = context.get("body", "").replace(
        '<div role="list" class="citation-list">', '<div class="citation-list">'
    )
    body = BIBLIOGRAPHY_LABEL.sub(r"\1", body)
    parameters = '<span class="at-parameters">{}</span>'
    context["body"] = SIGNATURE_LINES.sub(
        lambda lines: parameters.format(lines[1].replace("dd>", "span>")), body
    )


def keep_punctuation(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Keep on one line a formula and its punctuation, an option, and a hyphenated word of the title.

    A citation in parentheses needs no brackets.
    """
    body = TOUCHING.sub(r'<span class="at-kept">\g<0></span>', context.get("body", ""))
    body = IN_PARENTHESES.sub(r"\1\2\3", body)
    body = TITLE.sub(lambda title: re.sub(r"(?<=\w)-(?=\w)", "\u2011", title[0]), body)
    context["body"] = body.replace('<span class="pre">-', '<span class="pre at-kept">-')


def let_code_break(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Let long code in a table break after a dot, a bracket, an underscore or an equals sign only."""

    def broken(code: re.Match[str]) -> str:
        return re.sub(r"(?<=[._(=])(?=\w)", "<wbr>", code[0]) if len(code[1]) > BREAKS_BEYOND else code[0]

    body = context.get("body", "")
    context["body"] = TABLE.sub(lambda table: CODE.sub(broken, table[0]), body)


def stack_tables(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Name each cell of a table of words by its column, for phones, where a row of three cells is a block.

    As blocks, some browsers treat a table as one only by its ARIA roles. A table that aligns numbers stays.
    """

    def stacked(table: re.Match[str]) -> str:
        heads = [re.sub("<[^>]*>", "", head) for head in HEAD.findall(table[0])]
        if len(heads) < 3 or "text-right" in table[0]:
            return table[0]
        labels = itertools.cycle(f' data-label="{head}: "' if head else "" for head in heads)
        text = re.sub(r"<td[^>]*><p", lambda cell: cell[0] + next(labels), table[0])
        return PART.sub(lambda part: f'{part[0]} role="{ROLES.get(part[1], part[1])}"', text)

    context["body"] = TABLE.sub(stacked, context.get("body", ""))


def mend_folds(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Name the content of a fold, and let outputs of one line wrap."""

    def named(fold: re.Match[str]) -> str:
        names = {"source": "code", "output": "output"}
        return f"<summary>{names.get(fold[1], 'code and output')}</summary>"

    body = FOLD.sub(named, context.get("body", ""))
    body = ONE_LINE.sub(r'\1 class="at-line"', body)
    context["body"] = QUESTION.sub(r'\1<p class="at-question">', body, count=1)


def lighten(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Run the scripts of figures once, after the page is read; name the cells that hold a figure.

    A notebook has each script beside its figure. In a page, each of them would block the browser, and so
    would style rules that depend on a cell's content.
    """
    first, *cells = context.get("body", "").split(CELL)
    body = CELL.join([first, *(f"at-draws {cell}" if FIGURE in cell else cell for cell in cells)])
    scripts = dict.fromkeys(MOVERS.findall(body))
    moved = "".join(f'<script type="module">\n{WHEN_IDLE % script}</script>\n' for script in scripts)
    context["body"] = MOVERS.sub("", body) + moved


def choose_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Leave out the scripts that a page does not need, and defer those that can wait."""
    body, kept, seen = context.get("body", ""), [], set()
    context["has_formulas"] = "<mjx-container" in body  # the layout then preloads their fonts
    for script in context.get("script_files", []):
        name = Path(str(script.filename or "")).name.split("?")[0]
        key = (name, script.attributes.get("body"))
        if key in seen or NEEDS.get(name, "") not in body:
            continue
        seen.add(key)
        if name in DEFERRED:
            script.attributes["defer"] = "defer"
            if page == "search":  # its own scripts need them at once; all pages share the object
                del script.attributes["defer"]
        kept.append(script)
    context["script_files"] = kept
