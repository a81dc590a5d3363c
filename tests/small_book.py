"""A book of a few small pages, rendered by Sphinx in the test process."""

from pathlib import Path

from sphinx.testing.util import SphinxTestApp

# Without its own source_suffix, a book inherits the suffixes that an earlier book's extensions have added:
# Sphinx keeps them in the default for the life of the process.
CONF = """
extensions = ['{reader}', 'annotated_transformer.book.sphinx_cover']
source_suffix = {{'.rst': 'restructuredtext'}}
exclude_patterns = ['chapters/src', '_build']
myst_enable_extensions = ['dollarmath']
nb_execution_mode = 'off'
html_theme = 'basic'
nitpicky = True
suppress_warnings = ['myst.xref_missing']
"""


def write_book(folder: Path, pages: dict[str, str], *, reader: str = "myst_parser") -> Path:
    """Write a book with `pages` (text by name) in its folder `chapters`, read by the extension `reader`."""
    for name, text in pages.items():
        path = folder / "chapters" / (name if "." in name else f"{name}.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    names = [Path(name).stem for name in pages if "/" not in name and not name.endswith(".yml")]
    listed = "\n".join(f"chapters/{name}" for name in names)
    (folder / "index.md").write_text(f"# Cover\n\n```{{toctree}}\n{listed}\n```\n", encoding="utf-8")
    (folder / "conf.py").write_text(CONF.format(reader=reader), encoding="utf-8")
    return folder


def render(folder: Path) -> tuple[dict[str, str], str]:
    """Render a book and return its pages and warnings."""
    app = SphinxTestApp(srcdir=folder, freshenv=True)
    try:
        app.build()
        found = [*app.outdir.rglob("*.html"), app.outdir / "searchindex.js"]
        return {str(p.relative_to(app.outdir)): p.read_text("utf-8") for p in found}, app.warning.getvalue()
    finally:
        app.cleanup()
