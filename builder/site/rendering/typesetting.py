"""Line breaks, names and scripts of a page, set on Sphinx's tree of it when all references are resolved."""

import itertools
import re
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinxcontrib.bibtex.style.referencing import BracketStyle
from sphinxcontrib.bibtex.style.referencing.author_year import AuthorYearReferenceStyle

OPENING, CLOSING = ("(", "[", "“"), ".,;:!?)]”’"
SCRIPT = re.compile(r"<script>\n(.*?)</script>", re.DOTALL)  # of a figure, as `book.drawing` writes it
WHEN_IDLE = "const move = () => {\n%s};\n(window.requestIdleCallback ?? setTimeout)(move);\n"
FIGURE = re.compile(r'<figure class="at-figure[^>]* id="figure-([\w-]+)"')
TOOLS = """<p class="at-figure-tools"><a href="../_static/figures/figure-{name}.svg" download>SVG</a> ·
<a href="#code-{name}">code</a></p>"""


class Typeset(SphinxPostTransform):
    """Change one page as the functions below say."""

    default_priority = 903  # after the folds
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Change the page."""
        name_opening(self.document)
        box_exercises(self.document)
        for formula in list(self.document.findall(nodes.math)):
            keep_punctuation(formula)
        for output in self.document.findall(nodes.literal_block):
            if output.get("language") == "myst-ansi" and "\n" not in output.astext().rstrip("\n"):
                output["classes"].append("at-line")  # a single line that a cell printed may wrap
        for table in self.document.findall(nodes.table):
            stack(table)
        name_drawings(self.document)
        self.document += moved_scripts(self.document)


def name_opening(page: nodes.document) -> None:
    """Mark the question and the line of times, put the map beside them, and keep the title whole."""
    for section in page.children:
        if isinstance(section, nodes.section):
            title, *rest = (block for block in section if not isinstance(block, nodes.Invisible))
            title[:] = [unbroken(part) if isinstance(part, nodes.Text) else part for part in title]
            words = [part for block in rest[:1] for part in block.children if part.astext()]
            if words and isinstance(rest[0], nodes.paragraph) and isinstance(words[0], nodes.strong):
                rest[0]["classes"].append("at-question")
                if isinstance(rest[1], nodes.paragraph):
                    rest[1]["classes"].append("at-times")
                    if rest[2:] and "at-map" in rest[2].get("classes", ()):
                        head = nodes.container("", *rest[:3], classes=["at-head"])
                        section[:] = [
                            head if block is rest[0] else block for block in section if block not in rest[1:3]
                        ]


def box_exercises(page: nodes.document) -> None:
    """Put the text of each exercise, its cells, and its solution into one box."""
    for first in [node for node in page.findall(nodes.admonition) if "exercise" in node["classes"]]:
        parent, place = first.parent, first.parent.index(first)
        following = (
            at
            for at, node in enumerate(parent[place + 1 :], start=place + 1)
            if isinstance(node, nodes.section) or "exercise" in node.get("classes", ())
        )
        content = parent[place : next(following, len(parent))]
        parent[place : place + len(content)] = [nodes.container("", *content, classes=["at-task"])]


def unbroken(text: nodes.Text) -> nodes.Text:
    """Return a text that is not broken at a hyphen."""
    return nodes.Text(re.sub(r"(?<=\w)-(?=\w)", "\u2011", text))


def text_at(parent: nodes.Element, place: int) -> str:
    """Return the text at a place among children, and an empty string if there is another node or none."""
    node = parent[place] if 0 <= place < len(parent) else None
    return str(node) if isinstance(node, nodes.Text) else ""


def keep_punctuation(formula: nodes.math) -> None:
    """Keep a formula on one line with the bracket before it and the punctuation behind it."""
    parent, place = formula.parent, formula.parent.index(formula)
    before, after = text_at(parent, place - 1), text_at(parent, place + 1)
    start = before[:-1] if before.endswith(OPENING) else before
    rest = after.lstrip(CLOSING)
    opened, closed = before[len(start) :], after[: len(after) - len(rest)]
    if not opened and not closed:
        return
    if closed:
        parent[place + 1] = nodes.Text(rest)
    if opened:
        parent[place - 1] = nodes.Text(start)
    parent[place] = whole = nodes.inline("", classes=["at-kept"])
    whole += [part for part in (nodes.Text(opened), formula, nodes.Text(closed)) if part.astext()]


class RoundCitations(AuthorYearReferenceStyle):
    """The style of citations: (Xiong et al., 2020; Liu et al., 2020), and Xiong et al. (2020)."""

    def __init__(self) -> None:
        """Set both pairs of brackets."""
        brackets = BracketStyle("(", ")", "; ")
        super().__init__(bracket_textual=brackets, bracket_parenthetical=brackets)


def stack(table: nodes.table) -> None:
    """Name each cell of a table of words by its column, for phones, where a row of three cells is a block.

    As blocks, some browsers treat a table as one only by its ARIA roles. A table that aligns numbers stays.
    """
    heads = [entry for head in table.findall(nodes.thead) for entry in head.findall(nodes.entry)]
    if len(heads) < 3 or any("text-right" in entry["classes"] for entry in table.findall(nodes.entry)):
        return
    labels = itertools.cycle(re.sub("<[^>]*>", "", head.astext()) for head in heads)  # stars are HTML
    table["html"] = {"role": "table"}
    for kind, role in ((nodes.thead, "rowgroup"), (nodes.tbody, "rowgroup"), (nodes.row, "row")):
        for part in table.findall(kind):
            part["html"] = {"role": role}
    for body in table.findall(nodes.tbody):
        for entry in body.findall(nodes.entry):
            label = next(labels)
            entry["html"] = {"role": "cell"}
            if label and entry.children and isinstance(entry[0], nodes.paragraph):
                entry[0]["html"] = {"data-label": f"{label}: "}
    for head in heads:
        head["html"] = {"role": "columnheader"}


def name_drawings(page: nodes.document) -> None:
    """Name the cells that hold a figure, and end it with links to its file and its code.

    Style rules that depend on a cell's content would be slow, so they depend on this name.
    """
    for cell in page.findall(nodes.container):
        for raw in cell.findall(nodes.raw) if cell.get("nb_element") == "cell_code" else ():
            if figure := FIGURE.search(raw.astext()):
                cell["classes"].append("at-draws")
                tools = TOOLS.format(name=figure[1]) if figure[1][0].isdigit() else ""  # not in a guide
                raw[:] = [nodes.Text(raw.astext().replace("</figure>", f"{tools}</figure>"))]


def moved_scripts(page: nodes.document) -> list[nodes.raw]:
    """Take out the scripts of figures, and return each once, to run after the page is read.

    A notebook has each script beside its figure. In a page, each of them would block the browser.
    """
    scripts: dict[str, None] = {}
    for raw in page.findall(nodes.raw):
        if moved := SCRIPT.findall(raw.astext()):
            scripts |= dict.fromkeys(moved)
            raw[:] = [nodes.Text(SCRIPT.sub("", raw.astext()))]
    texts = (f'<script type="module">\n{WHEN_IDLE % script}</script>\n' for script in scripts)
    return [nodes.raw("", text, format="html") for text in texts]
