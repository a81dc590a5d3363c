"""The texts of a chapter's page come from its source, because its notebook has them as plain Markdown.

Cross-references, exercises, and labels exist only in the source; outputs only in the notebook.
"""

import re
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from builder.chapters import source_of

CLAIM = re.compile(r"✓ (.*?)(?:: \*\*.*\*\* \((?:the book says .*|exactly)\))?$")
SETUP = "setup"  # the tag of the notebook's cell that its source does not have


def take_source(app: Sphinx, docname: str, content: list[str]) -> None:
    """Replace the cells of a chapter's notebook by those of its source, keeping their outputs.

    Raises:
        ExtensionError: The notebook was built from a different source.
    """
    path = Path(app.env.doc2path(docname))
    source = source_of(Path(app.srcdir), path.stem)
    if path.suffix != ".ipynb" or not source.is_file():
        return
    app.env.note_dependency(str(source))
    notebook = nbformat.reads(content[0], as_version=4)
    built = [cell for cell in notebook.cells if cell.cell_type == "code"]
    built = [cell for cell in built if SETUP not in cell.metadata.get("tags", [])]
    notebook.cells = jupytext.read(source).cells
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if len(code) != len(built):
        raise ExtensionError(
            f"{path.name} has {len(built)} cells of code and its source {len(code)}; run make chapters"
        )
    for cell, before in zip(code, built, strict=True):
        cell.outputs, cell.execution_count = before.outputs, before.execution_count
        for anchor, output in named_claims(cell):
            text = output.data["text/markdown"]
            output.data["text/markdown"] = f'<a class="at-claim" id="{anchor}"></a>{text}'
    content[0] = nbformat.writes(notebook)


def named_claims(cell: NotebookNode) -> list[tuple[str, NotebookNode]]:
    """Return the outputs of a cell that are claims, with their anchors: the names in its option `:claims:`.

    Raises:
        ExtensionError: The cell displayed more or fewer claims than it has names.
    """
    names = cell.metadata.get("claims", [])
    shown = [
        output for output in cell.outputs if CLAIM.match(output.get("data", {}).get("text/markdown", ""))
    ]
    if len(shown) != len(names):
        raise ExtensionError(
            f"a cell displayed {len(shown)} claims, and its option :claims: has {len(names)} names "
            f"({', '.join(names) or 'none'}); it begins {cell.source[:60]!r}"
        )
    return [(f"claim-{name}", output) for name, output in zip(names, shown, strict=True)]


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("source-read", take_source)
