"""The reading time that a page names, checked against the words that it shows before anything is unfolded."""

import re
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.util import logging

from builder.site.rendering.folds import fold

WORDS_PER_MINUTE = 200
FAR = 5  # minutes
CAPTION = re.compile(r"<figcaption.*?</figcaption>", re.DOTALL)
logger = logging.getLogger(__name__)
TIME = re.compile(r"(?<=Reading: )\d+(?= minutes)")


def words_shown(node: nodes.Node) -> int:
    """Return the number of words that a reader sees; a formula is one word, and folds are not opened."""
    if isinstance(node, nodes.Text):
        return len(node.split())
    if isinstance(node, nodes.math | nodes.math_block):
        return 1
    if isinstance(node, nodes.raw):
        return sum(len(re.sub("<[^>]*>", " ", text).split()) for text in CAPTION.findall(node.astext()))
    if isinstance(node, fold):
        return words_shown(node[0])
    if isinstance(node, HideCodeCellNode) or "dropdown" in node.get("classes", ()):
        return 0
    return sum(map(words_shown, node.children))


def check_time(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Warn if the page names a time that is far from the computed one."""
    named = TIME.search(context.get("body", "")) if doctree is not None else None
    if named:
        minutes = words_shown(doctree) / WORDS_PER_MINUTE
        if abs(int(named[0]) - minutes) > FAR:
            words = "its words take %.0f minutes to read, and it names %s; give the nearest multiple of 5"
            logger.warning(words, minutes, named[0], location=page)
