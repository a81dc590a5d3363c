"""Neighboring words, which Sphinx's search index lacks: a phrase then finds the page about it."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

LEAST = 2  # a pair of words that a page repeats belongs to its subject


def repeated_pairs(texts: Iterable[str]) -> dict[str, int]:
    """Return the pairs of neighboring words that the texts of a page repeat, and how often each occurs."""
    found: Counter[str] = Counter()
    for text in texts:
        words = re.findall(r"[a-z]+", text.lower())
        found.update(f"{one} {two}" for one, two in pairwise(words))
    return {pair: count for pair, count in sorted(found.items()) if count >= LEAST}


def count_pairs(app: Sphinx, page: nodes.document) -> None:
    """Count the pairs of a page when it is read: reading it again from its file takes longer."""
    blocks = page.findall(lambda node: isinstance(node, nodes.paragraph | nodes.title))
    app.env.metadata[app.env.docname]["pairs"] = repeated_pairs(block.astext() for block in blocks)


def write_pairs(app: Sphinx) -> None:
    """Write the pairs of all pages for the search page."""
    pages = {page: app.env.metadata[page]["pairs"] for page in sorted(app.env.all_docs)}
    Path(app.outdir, "_static", "pairs.js").write_text(
        f"const PAIRS = {json.dumps(pages)};\n", encoding="utf-8"
    )
