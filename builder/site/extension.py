"""The Sphinx extension of the book: all that it registers, in the order in which Sphinx calls it."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pybtex.backends.plaintext import Backend
from pybtex.plugin import register_plugin as register_backend
from sphinx.application import Sphinx
from sphinxcontrib.bibtex.plugin import register_plugin

from builder import handbook
from builder.site import cover_page, epub, explorer_page, fields, notebooks, page_cells
from builder.site.front import directives, exercises, glossary, indexes, statements, symptoms
from builder.site.rendering import (
    docstrings,
    folds,
    footer,
    formulas,
    head,
    icons,
    markup,
    numbers,
    questions,
    search,
    typesetting,
)

HERE = Path(__file__).parent
NEW_OBJECTS = 100_000  # before Python looks for garbage; reading one page makes several times as many


def add_folders(app: Sphinx, config: Any) -> None:
    """Serve our style sheets, scripts, fonts and icon, and use our templates."""
    config.html_static_path.append(str(HERE / "static"))
    config.templates_path.append(str(HERE / "templates"))


DIRECTIVES = {
    "attention-picture": directives.Picture,
    "chapter-cards": directives.Cards,
    "chapter-tables": directives.Chapters,
    "chapter-terms": glossary.Terms,
    "corrections": statements.Corrections,
    "equation-index": indexes.EquationIndex,
    "evidence": folds.Evidence,
    "exercise-kinds": exercises.ExerciseKinds,
    "exercise-list": exercises.ExerciseList,
    "explorer": explorer_page.Explorer,
    "figure-gallery": indexes.Gallery,
    "page-code": folds.PageCode,
    "poster": directives.Poster,
    "rooms": directives.Rooms,
    "syllabus": statements.Syllabus,
    "symptoms": symptoms.Symptoms,
    "tensor-table": explorer_page.TensorTable,
    "you-are-here": directives.YouAreHere,
}
NODES = {
    directives.chapter_cards: (directives.write_cards, None),
    **folds.NODES,
    **markup.NODES,
}
POST_TRANSFORMS = (
    numbers.NameExercises,
    questions.FoldQuestions,
    typesetting.Typeset,
)
EVENTS: dict[str, tuple[Callable[..., None], ...]] = {
    "config-inited": (
        add_folders,
        cover_page.read_list,
        handbook.write_stubs,
        footer.add_footer,
        notebooks.offer_to_launch,
    ),
    "source-read": (page_cells.take_source,),
    "autodoc-process-docstring": (docstrings.markdown_math, docstrings.keep_colons),
    "doctree-read": (docstrings.shorten_types, numbers.number_equations, fields.add_fields),
    "doctree-resolved": (formulas.forget_page,),
}
AFTER = {"autodoc-process-docstring": 600}  # napoleon
BEFORE_THEME, AFTER_THEME = 100, 900
ON_PAGES = {  # of the site, not of an EPUB
    BEFORE_THEME: (cover_page.shorten_tables, handbook.leave_out_download),
    AFTER_THEME: (
        cover_page.enliven_cover,
        explorer_page.load_explorer,
        head.describe_page,
        head.choose_scripts,  # from here on, no script is added
        cover_page.name_neighbors,
    ),
}
FIRST = (
    search.replace_search,
    explorer_page.write_explorer,
    notebooks.write_download,
)
LAST = (
    formulas.write_style_sheet,
    search.write_index,
    cover_page.write_files,
    indexes.write_figures,
    icons.cut_icons,  # when all that shows icons is written
)
STYLES = ("cover.css", "formulas/formulas.css", "book.css", "figures.css")
SCRIPTS = ("book.js", "exercises.js", "entries.js")


def start(app: Sphinx) -> None:
    """Write what does not wait for the pages, and change each of the site's when it is written."""
    app.config.numfig = False  # `numbers.py` numbers all; for this, Sphinx would walk every page
    if app.builder.name == "html":
        for write in FIRST:
            write(app)
        for priority, steps in ON_PAGES.items():
            for step in steps:
                app.connect("html-page-context", step, priority=priority)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write what waits for all pages."""
    if exception is None and app.builder.name == "html":
        for write in LAST:
            write(app)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register all of it with Sphinx, and let Python search the pages' many nodes for garbage less often."""
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])
    app.add_config_value("at_chapters", [], "html", [list])
    app.add_html_math_renderer("built", (formulas.visit_inline, None), (formulas.visit_display, None))
    register_plugin("sphinxcontrib.bibtex.style.referencing", "round", typesetting.RoundCitations)
    register_backend("pybtex.backends", "plaintext", Backend)  # or each citation looks through all packages
    app.add_builder(epub.Epub, override=True)
    app.add_autodocumenter(docstrings.CheckDocumenter)
    for directive, made_by in DIRECTIVES.items():
        app.add_directive(directive, made_by)
    app.add_role("whence", questions.Whence())
    for node, functions in NODES.items():
        app.add_node(node, override=node in markup.NODES, html=functions)
    for transform in POST_TRANSFORMS:
        app.add_post_transform(transform)
    for event, steps in EVENTS.items():
        for step in steps:
            app.connect(event, step, priority=AFTER.get(event, 500))
    app.connect("builder-inited", start)
    app.connect("build-finished", finish, priority=900)
    for style in STYLES:
        app.add_css_file(style)
    for script in SCRIPTS:
        app.add_js_file(script, defer="defer")
    safe = {"parallel_read_safe": True, "parallel_write_safe": False}  # one JavaScript engine, one record
    return {"env_version": 1, **safe}  # raise it if pages that were read before lack something
