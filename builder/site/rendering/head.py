"""The head of each page: its description, and the scripts that it needs."""

import html
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

DESCRIPTION = (
    "The Transformer of 'Attention Is All You Need', explained by code that runs and claims that are checked."
)

# Scripts that a page needs only if its body contains this text. Scripts that can wait are deferred.
NEEDS = {
    "clipboard.min.js": "highlight",
    "copybutton.js": "highlight",
    "togglebutton.js": "dropdown",
    "design-tabs.js": "sd-tab-set",
    "exercises.js": "at-judged",
    "entries.js": "at-filter",
}
DEFERRED = {*NEEDS, "doctools.js", "sphinx-book-theme.js"}
TAG = re.compile(r"<[^>]+>")
REPLACED = "sphinx_highlight.js"  # by book.js


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
    """Describe the page for search engines, and for previews of links to it."""
    title, site = html.unescape(TAG.sub("", context.get("title", ""))), app.config.html_title
    is_cover, description = page == app.config.root_doc, html.escape(first_paragraph(doctree))
    properties = {
        "og:type": "website" if is_cover else "article",
        "og:site_name": html.escape(site),
        "og:title": html.escape(site if is_cover else title or site),
        "og:description": description,
        "og:url": html.escape(context.get("pageurl") or ""),  # if the book has an address
    }
    tags = [f'<meta name="description" content="{description}" />\n']
    tags += [f'<meta property="{name}" content="{value}" />\n' for name, value in properties.items() if value]
    context["metatags"] = context.get("metatags", "") + "".join(tags)


def choose_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Leave out the scripts that a page does not need, and defer those that can wait."""
    body, scripts, seen = context.get("body", ""), [], set()
    context["has_formulas"] = "<mjx-container" in body  # the layout then preloads their fonts
    for script in context.get("script_files", []):
        name = Path(str(script.filename or "")).name.split("?")[0]
        key = (name, script.attributes.get("body"))
        if name == REPLACED or key in seen or NEEDS.get(name, "") not in body:
            continue
        seen.add(key)
        if name in DEFERRED:
            script.attributes["defer"] = "defer"
        scripts.append(script)
    context["script_files"] = scripts
