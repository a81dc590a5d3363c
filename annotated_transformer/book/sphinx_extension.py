"""What the rendered book needs from Sphinx: vendored scripts, style, descriptions, Markdown in docstrings."""

import hashlib
import html
import importlib.metadata
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

HERE = Path(__file__).parent
SIGNATURE_LINES = re.compile(r"<dl>\s*((?:<dd>.*?</dd>\s*)+)</dl>", re.DOTALL)
DESCRIPTION = (
    "The Transformer of 'Attention Is All You Need', explained by code that runs and claims that are checked."
)


def verified_files(manifest: dict[str, Any], root: Path) -> Iterator[tuple[str, Path]]:
    """Yield each vendored file's name and place, once its bytes are known to be those of the manifest.

    Raises:
        ExtensionError: if a file is missing or has other bytes.
    """
    source = f"{manifest['package']}=={manifest['version']}"
    way_out = f"install it with: pip install {source}"
    for name, expected in manifest["files"].items():
        path = root / name
        if not path.is_file():
            raise ExtensionError(f"the book needs {name} of {source}, which is not at {path}; {way_out}")
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != expected:
            raise ExtensionError(
                f"{path} has SHA-256 {found}, but vendored.json expects {expected} ({source}); {way_out}"
            )
        yield name, path


def package_root(manifest: dict[str, Any]) -> Path:
    """Return the folder of the manifest's package that holds its files.

    Raises:
        ExtensionError: if the package is not installed.
    """
    try:
        distribution = importlib.metadata.distribution(manifest["package"])
    except importlib.metadata.PackageNotFoundError:
        raise ExtensionError(
            f"the book needs {manifest['package']} {manifest['version']}, which is not installed; "
            f"install it with: pip install {manifest['package']}=={manifest['version']}"
        ) from None
    return Path(str(distribution.locate_file(manifest["root"])))


def check_vendored(app: Sphinx) -> None:
    """Refuse to build a book whose scripts are not the ones we know."""
    for manifest in json.loads((HERE / "vendored.json").read_text(encoding="utf-8")).values():
        list(verified_files(manifest, package_root(manifest)))


def copy_vendored(app: Sphinx, exception: Exception | None) -> None:
    """Copy the vendored files beside the pages; a script in the static path would land on every page."""
    if exception or app.builder.format != "html":
        return
    for folder, manifest in json.loads((HERE / "vendored.json").read_text(encoding="utf-8")).items():
        for name, path in verified_files(manifest, package_root(manifest)):
            target = Path(app.outdir, "_static", "vendor", folder, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def write_start_page(app: Sphinx, exception: Exception | None) -> None:
    """Write the index.html that leads to the first page, unless that is one already."""
    start = Path(app.outdir, "index.html")
    if exception or app.builder.format != "html" or app.config.root_doc == "index":
        return
    first, title = f"{app.config.root_doc}.html", html.escape(app.config.html_title)
    start.write_text(
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        f'<meta name="description" content="{html.escape(DESCRIPTION)}">\n'
        f'<link rel="icon" href="_static/favicon.svg">\n'
        f'<meta http-equiv="refresh" content="0; url={first}"></head>\n'
        f'<body><main><h1><a href="{first}">{title}</a></h1></main></body></html>\n',
        encoding="utf-8",
    )


def add_static(app: Sphinx, config: Any) -> None:
    """Serve our style sheet, script and icon."""
    config.html_static_path.append(str(HERE / "static"))


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
    """Give every page a description, for search engines and for those who share a link."""
    content = html.escape(first_paragraph(doctree), quote=True)
    context["metatags"] = context.get("metatags", "") + f'<meta name="description" content="{content}" />\n'


def mend_lists(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Undo what only looks like a list, so that a screen reader does not announce a broken one.

    Sphinx writes a signature's lines as definitions without terms; bibtex's list has links between its items.
    """
    body = context.get("body", "").replace(
        '<div role="list" class="citation-list">', '<div class="citation-list">'
    )
    parameters = '<span class="at-parameters">{}</span>'
    context["body"] = SIGNATURE_LINES.sub(
        lambda lines: parameters.format(lines[1].replace("dd>", "span>")), body
    )


def keep_colons(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Put back what napoleon took for a type: a constant's words before its docstring's first colon."""
    for index, line in enumerate(lines):
        if what in {"attribute", "data", "property"} and line.startswith(":type: "):
            del lines[index]
            lines[0] = f"{line.removeprefix(':type: ')}: {lines[0]}"
            return


def markdown_math(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Let autodoc read the formulas of our docstrings, `$…$` as in Markdown."""
    lines[:] = re.sub(r"\$([^$]+)\$", r":math:`\1`", "\n".join(lines)).split("\n")


def shorten_types(app: Sphinx, doctree: nodes.document) -> None:
    """Write types by their last names where Sphinx cannot read a signature, as with `= <factory>`."""
    for text in list(doctree.findall(addnodes.desc_sig_name)):
        text[:] = [nodes.Text(re.sub(r"~[\w.]*\.(\w+)", r"\1", text.astext()))]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the above with Sphinx."""
    app.connect("config-inited", add_static)
    app.connect("builder-inited", check_vendored)
    app.connect("html-page-context", describe_page)
    app.connect("html-page-context", mend_lists)
    app.connect("autodoc-process-docstring", keep_colons, priority=600)  # napoleon comes at 500
    app.connect("autodoc-process-docstring", markdown_math)
    app.connect("doctree-read", shorten_types)
    app.connect("build-finished", copy_vendored)
    app.connect("build-finished", write_start_page)
    app.add_css_file("book.css")
    app.add_js_file("book.js", defer="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
