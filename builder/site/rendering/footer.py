"""The footer of each page: the version, its date, and how to cite it, all from CITATION.cff."""

import html
from pathlib import Path
from typing import Any

import yaml
from sphinx.application import Sphinx

BIBTEX = """\
@misc{{annotated_transformer,
  title = {{{title}}},
  author = {{{{{authors}}}}},
  year = {{{year}}},
  note = {{Version {version}}}
}}"""


def footer(facts: dict[str, Any]) -> str:
    """Return the footer for these facts, with a BibTeX entry that unfolds."""
    date = str(facts["date-released"])
    authors = " and ".join(author["name"] for author in facts["authors"])
    entry = BIBTEX.format(title=facts["title"], authors=authors, year=date[:4], version=facts["version"])
    return (
        f"Version {facts['version']}, {date}. <details class='at-cite'><summary>Cite this book</summary>"
        f"<pre tabindex='0'>{html.escape(entry)}</pre></details>"
    )


def add_footer(app: Sphinx, config: Any) -> None:
    """Give the theme the footer, if the book has a CITATION.cff."""
    file = Path(app.srcdir, "CITATION.cff")
    if file.is_file():
        facts = yaml.safe_load(file.read_text(encoding="utf-8"))
        config.html_theme_options["extra_footer"] = footer(facts)
