"""The reading time of a page, computed from the words that it shows before anything is unfolded."""

import re
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx

from annotated_transformer.book.site.rendering.checks import checks
from annotated_transformer.book.site.rendering.questions import question

WORDS_PER_MINUTE = 200
CAPTION = re.compile(r"<figcaption.*?</figcaption>", re.DOTALL)
TIME = re.compile(r"(?<=Reading: )\d+(?= minutes)")


def words_shown(node: nodes.Node) -> int:
    """Return the number of words that a reader sees; a formula is one word, and folds are not opened."""
    if isinstance(node, nodes.Text):
        return len(node.split())
    if isinstance(node, nodes.math | nodes.math_block):
        return 1
    if isinstance(node, nodes.raw):
        return sum(len(re.sub("<[^>]*>", " ", text).split()) for text in CAPTION.findall(node.astext()))
    if isinstance(node, question):
        return words_shown(node[0])
    if isinstance(node, checks | HideCodeCellNode) or "dropdown" in node.get("classes", ()):
        return 0
    return sum(map(words_shown, node.children))


def write_time(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Write the computed time where the page names one."""
    if doctree is not None:
        minutes = max(1, round(words_shown(doctree) / WORDS_PER_MINUTE))
        context["body"] = TIME.sub(str(minutes), context.get("body", ""), count=1)


def setup(app: Sphinx) -> None:
    """Register the above with Sphinx."""
    app.connect("html-page-context", write_time)
