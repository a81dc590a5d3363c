"""The book's front as Sphinx builds it: cover, sidebar, previews, 404 page."""

import base64
import functools
import html
import os
import shutil
from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes
from jinja2 import Template
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from builder.chapters import read_chapters
from builder.explorer.still import POSTER

STATIC = Path(__file__).parent / "static"


def read_list(app: Sphinx, config: Any) -> None:
    """Read the list of chapters once."""
    config.at_chapters = read_chapters(Path(app.srcdir))


def shorten_tables(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Make the sidebar of titles only: Sphinx copies all headings of the book before it leaves them out."""
    made, env = context["toctree"], app.env

    def made_of_titles(**options: Any) -> Any:
        whole = env.tocs
        env.tocs = titles_of(env) if options.get("titles_only") else whole
        try:
            return made(**options)
        finally:
            env.tocs = whole

    context["toctree"] = made_of_titles


@functools.lru_cache(maxsize=1)
def titles_of(env: BuildEnvironment) -> dict[str, nodes.bullet_list]:
    """Return each page's table of contents with its title only, unless it lists other pages."""
    short = {}
    for page, table in env.tocs.items():
        if next(table.findall(addnodes.toctree), None) is None:
            table = table.deepcopy()
            for entry in table:
                del entry[1:]
        short[page] = table
    return short


def name_neighbors(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Name the chapters before and after a page as the sidebar does, not by the sentences above them."""
    titles = {chapter.file: f"{chapter.number}. {chapter.title}" for chapter in app.config.at_chapters}
    for side in ("prev", "next"):
        link = PurePosixPath(page, "..", (context.get(side) or {}).get("link", ""))
        if title := titles.get(os.path.normpath(link.with_suffix(""))):
            context[f"{side}_title"] = title


def enliven_cover(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Load the script of the cover's picture on the cover, and on no other page."""
    if page == app.config.root_doc:
        app.add_js_file("cover.js", defer="defer")


def write_files(app: Sphinx) -> None:
    """Write the poster and the 404 page."""
    for file in filter(Path.is_file, POSTER):
        shutil.copy(file, Path(app.outdir, "_static"))
    base = app.config.html_baseurl
    page = Template((STATIC / "cover_404.html").read_text(encoding="utf-8"))
    text = page.render(
        title=app.config.html_title,
        icon=base64.b64encode((STATIC / "favicon.svg").read_bytes()).decode(),
        root=html.escape(f"{base.rstrip('/')}/") if base else "",  # its script looks for the book's root
    )
    Path(app.outdir, "404.html").write_text(f"{text}\n", encoding="utf-8")
