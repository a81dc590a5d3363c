"""A book of a chapter, a glossary, and corrections, rendered in the test process."""

import json
from pathlib import Path

from sphinx.testing.util import SphinxTestApp

GLOSSARY = Path(__file__).resolve().parents[1] / "chapters" / "glossary.md"
# Without its own source_suffix, a book inherits the suffixes that an earlier book's extensions have added:
# Sphinx keeps them in the default for the life of the process.
CONF = """
from builder.site import cover_page
from builder.site.front import directives, glossary, statements

extensions = ['myst_nb']
source_suffix = {'.rst': 'restructuredtext'}
exclude_patterns = ['chapters/src', '_build']
myst_enable_extensions = ['dollarmath']
nb_execution_mode = 'off'
html_theme = 'basic'
nitpicky = True
suppress_warnings = ['myst.xref_missing']

def setup(app):
    app.add_config_value('at_chapters', [], 'html', [list])
    app.connect('config-inited', cover_page.read_list)
    app.add_directive('chapter-terms', glossary.Terms)
    app.add_directive('corrections', statements.Corrections)
"""
HEAD = "title: Looking\npart: P\nquestion: Why?\n"
TERMS = """terms:
  zebra: An animal with $n$ stripes, see [the paper](https://example.org).
  Apple: >-
    A fruit
    in two lines.
"""
CORRECTIONS = """
- number: 2
  topic: stars
  kind: wrong
  statement: Stars are *fixed*.
  right: They move by $v$.
  shown: [1#claim-moves, "1#figure-1-1 a map", 1#eq-star]
- {number: 1, topic: stars, kind: missing, statement: Stars., right: They burn., shown: [1#eq-star]}
- {number: 3, topic: moons, kind: missing, statement: A moon., right: Ours., shown: [1#eq-star]}
"""


def chapter() -> str:
    """Return the notebook of the chapter: an equation, and a claim that its code displayed."""
    text = "✓ a star, moved: **2** (the book says above 1)"
    metadata = {"claim": {"name": "a star, moved", "value": [2.0], "bound": {"above": 1}}}
    output = {"output_type": "display_data", "metadata": metadata, "data": {"text/markdown": text}}
    equation = {"cell_type": "markdown", "metadata": {}, "source": "# Looking\n\n$$\nx\n$$ (eq-star)"}
    cell = {
        "cell_type": "code",
        "metadata": {"claims": ["moves"]},
        "source": "",
        "execution_count": 1,
        "outputs": [output],
    }
    return json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [equation, cell]})


def render(folder: Path) -> tuple[dict[str, str], str]:
    """Write the book into a folder, render it, and return its pages and warnings."""
    pages = {
        "corrections.yml": CORRECTIONS,
        "src/01_looking.md": f"---\n{HEAD}{TERMS}---\n\n# Looking around\n\nZebras.\n",
        "01_looking.ipynb": chapter(),
        "corrections.md": "# Notes\n\n```{corrections} stars\n```\n",
        "glossary.md": GLOSSARY.read_text("utf-8"),
    }
    (folder / "chapters" / "src").mkdir(parents=True)
    for name, text in pages.items():
        (folder / "chapters" / name).write_text(text, "utf-8")
    listed = "\n".join(f"chapters/{name}" for name in ("01_looking", "corrections", "glossary"))
    (folder / "index.md").write_text(f"# Cover\n\n```{{toctree}}\n{listed}\n```\n", "utf-8")
    (folder / "conf.py").write_text(CONF, "utf-8")
    app = SphinxTestApp(srcdir=folder, freshenv=True)
    try:
        app.build()
        files = app.outdir.rglob("*.html")
        return {str(p.relative_to(app.outdir)): p.read_text("utf-8") for p in files}, app.warning.getvalue()
    finally:
        app.cleanup()
