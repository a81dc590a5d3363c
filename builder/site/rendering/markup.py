"""HTML that Sphinx writes for nodes of its own, where a page needs other HTML."""

import re
from collections.abc import Callable
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx import addnodes

WORD = '<span class="pre">'
SHORT = 12  # letters of code that stays on one line; longer code breaks in a narrow place
OPTION = 24  # letters of an option that stays on one line
NARROW = (nodes.table, nodes.title, addnodes.compact_paragraph)  # the last one is of the contents
FOLDED = {"source": "code", "output": "output"}
PARAMETERS = {
    "<dl>\n": '<span class="at-parameters">',
    "<dd>": "<span>",
    "</dd>\n": "</span>\n",
    "</dl>\n\n": "</span>\n",
}
CITATIONS = '<div role="list" class="citation-list">\n'
Visit = Callable[[Any, Any], None]


def sphinx_writes(translator: Any, node: nodes.Node, side: str = "visit") -> None:
    """Write a node as Sphinx and the theme do."""
    getattr(type(translator), f"{side}_{type(node).__name__}")(translator, node)


def visit_with_attributes(translator: Any, node: nodes.Element) -> None:
    """Add the attributes that `typesetting` gave to a node: docutils would write only classes and ids."""
    sphinx_writes(translator, node)
    if attributes := node.get("html"):
        tag, _, end = translator.body[-1].rpartition(">")
        texts = "".join(f' {name}="{translator.attval(value)}"' for name, value in attributes.items())
        translator.body[-1] = f"{tag}{texts}>{end}"


def visit_literal(translator: Any, node: nodes.literal) -> None:
    """Keep short code on one line, but not in the contents."""
    if len(node.astext()) <= SHORT and not inside(node, addnodes.compact_paragraph):
        node["classes"].append("at-kept")
    sphinx_writes(translator, node)


def visit_text(translator: Any, node: nodes.Text) -> None:
    """Keep an option such as `-m` whole, and let long code in a narrow place break after `._/(=` only."""
    start = len(translator.body)
    sphinx_writes(translator, node)
    if translator.protect_literal_text:
        narrow = inside(node, NARROW)
        translator.body[start:] = [code_word(piece, narrow) for piece in translator.body[start:]]


def inside(node: nodes.Node, kinds: Any) -> bool:
    """Return whether a node stands in one of these kinds."""
    while node := node.parent:
        if isinstance(node, kinds):
            return True
    return False


def code_word(piece: str, narrow: bool) -> str:
    """Return a word of code as a page needs it."""
    word = piece.removeprefix(WORD).removesuffix("</span>")
    if word == piece:
        return piece  # a space
    if narrow and len(word) > SHORT:
        word = re.sub(r"(?<=[._/(=])(?=\w)", "<wbr>", word)
    start = WORD.replace("pre", "pre at-kept") if word.startswith("-") and len(word) < OPTION else WORD
    return f"{start}{word}</span>"


def visit_hidden(translator: Any, node: nodes.Element) -> None:
    """Name a fold of a notebook by its content."""
    content = node["prompt_show"].rpartition(" ")[2].removesuffix("s")
    name = FOLDED.get(content, "code and output")
    translator.body.append(f'<details class="admonition hide {" ".join(node["classes"])}">\n')
    translator.body.append(f"<summary>{name}</summary>\n")


def depart_hidden(translator: Any, node: nodes.Element) -> None:
    """End a fold of a notebook."""
    translator.body.append("</details>\n")


def visit_citation(translator: Any, node: nodes.citation) -> None:
    """Begin an entry of the bibliography: the list has links between its items, so it is none."""
    start = len(translator.body)
    sphinx_writes(translator, node)
    translator.body[start:] = [
        piece.replace(CITATIONS, '<div class="citation-list">\n') for piece in translator.body[start:]
    ]


def visit_label(translator: Any, node: nodes.label) -> None:
    """Leave out the labels of the bibliography: the book cites by author and year."""
    if isinstance(node.parent, nodes.citation):
        raise nodes.SkipNode
    sphinx_writes(translator, node)


def visit_parameters(translator: Any, node: nodes.Element) -> None:
    """Begin the parameters of a signature, and remember where."""
    node["start"] = len(translator.body)
    sphinx_writes(translator, node)


def depart_parameters(translator: Any, node: nodes.Element) -> None:
    """End the parameters: a screen reader would announce their lines as definitions without terms."""
    sphinx_writes(translator, node, "depart")
    pieces = translator.body[node["start"] :]
    translator.body[node["start"] :] = [PARAMETERS.get(piece, piece) for piece in pieces]


WITH_ATTRIBUTES = (nodes.table, nodes.thead, nodes.tbody, nodes.row, nodes.entry, nodes.paragraph)
NODES: dict[Any, tuple[Visit, Visit | None]] = {
    **dict.fromkeys(WITH_ATTRIBUTES, (visit_with_attributes, None)),
    nodes.Text: (visit_text, None),
    nodes.literal: (visit_literal, None),
    nodes.citation: (visit_citation, None),
    nodes.label: (visit_label, None),
    HideCodeCellNode: (visit_hidden, depart_hidden),
    addnodes.desc_parameterlist: (visit_parameters, depart_parameters),
    addnodes.desc_type_parameter_list: (visit_parameters, depart_parameters),
}
