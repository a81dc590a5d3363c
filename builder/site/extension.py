"""The Sphinx extension of the book, the only one of ours that `_config.yml` lists."""

import gc
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from builder.site import cover_page, explorer_page, notebooks, page_cells
from builder.site.rendering import (
    docstrings,
    folds,
    footer,
    formulas,
    numbers,
    pages,
    questions,
    reading,
    search,
    themes,
)
from builder.site.rendering.vendored import check_vendored

HERE = Path(__file__).parent
NEW_OBJECTS = 100_000  # before Python looks for garbage; reading one page makes several times as many


def add_folders(app: Sphinx, config: Any) -> None:
    """Serve our style sheets, scripts, fonts and icon, and use our templates."""
    config.html_static_path.append(str(HERE / "static"))
    config.templates_path.append(str(HERE / "templates"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register all of it with Sphinx, and let Python search the pages' many nodes for garbage less often."""
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])
    app.connect("config-inited", add_folders)
    app.connect("builder-inited", check_vendored)
    parts = (docstrings, folds, footer, formulas, numbers, pages, questions, reading, search)
    for part in (*parts, themes, cover_page, explorer_page, notebooks, page_cells):
        part.setup(app)
    for name in ("formulas/formulas.css", "book.css", "figures.css"):
        app.add_css_file(name)
    for name in ("book.js", "figures.js"):
        app.add_js_file(name, defer="defer")
    safe = {"parallel_read_safe": True, "parallel_write_safe": False}  # one JavaScript engine, one record
    return {"env_version": 1, **safe}  # raise it if pages that were read before lack something
