"""Say why a notebook is out of date, as far as the notebook itself shows.

It shows whether its cells differ from those that its source gives, whether what `show_source` printed is no
longer our source, and whether a data file has changed: its metadata has a digest of each file that it was
`made_of`, as its kernel reported. Whether the code that it runs has changed since is found by `imports`.
"""

import ast
import hashlib
import inspect
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbformat import NotebookNode

from builder.book import Book
from builder.chapters import read_source, written
from builder.claim_values import fill
from builder.imports import CHAPTERS, ROOT
from builder.reader import name_folded, read_cells

WEIGHTS = ROOT / "annotated_transformer" / "weights"
CODE = {".py", ".js"}  # `imports` notices when it changes
PYTHON = {  # without pygments_lexer: the pages color plain Python
    "name": "python",
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "nbconvert_exporter": "python",
    "codemirror_mode": {"name": "ipython", "version": 3},
}
LISTING = re.compile(  # the complete source of a definition, as `show_source` prints it
    r"^(`{3,})python\n# (?P<module>annotated_transformer[\w.]*).*\n(?P<source>(?s:.*?))\n\1$", re.MULTILINE
)


def read(source: Path) -> NotebookNode:
    """Read a source; a cell's id is a hash of its text, so it is stable when other cells change."""
    notebook, seen = read_source(source), Counter[str]()
    for cell in notebook.cells:
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:8]
        cell.id = f"{digest}-{seen[digest]}"
        seen[digest] += 1
    notebook.metadata = NotebookNode(kernelspec=notebook.metadata.kernelspec, language_info=PYTHON)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


class Status(NamedTuple):
    """Why a notebook is out of date, or nothing; and the notebook up to date, if no code differs."""

    reason: str
    rewritten: NotebookNode | None = None


def unexecuted(source: Path, book: Book) -> NotebookNode:
    """Return the notebook that a source gives, without outputs."""
    notebook = read(source)
    notebook.cells = read_cells(notebook, book, source.stem)
    marks = [cell.metadata.exercise for cell in notebook.cells if "exercise" in cell.metadata]
    if marks:  # for `grade`, which names those that a reader has deleted
        notebook.metadata.exercises = {mark["id"]: mark["check"] for mark in marks if "check" in mark}
    return notebook


def rewritten(built: NotebookNode, new: NotebookNode) -> NotebookNode | None:
    """Give the `new` notebook the outputs of the one built before; return it, or None if its code differs."""
    cells, before = ([cell for cell in each.cells if cell.cell_type == "code"] for each in (new, built))
    for cell, old in zip(cells, before, strict=False):
        cell.outputs, cell.execution_count = old.get("outputs", []), old.get("execution_count")
        name_folded(cell)
    if [unmarked(cell) for cell in cells] != [unmarked(cell) for cell in before]:
        return None
    fill(new.cells)
    new.metadata.made_of = built.metadata.get("made_of", {})
    return new if new.metadata.kernelspec == built.metadata.kernelspec else None


def unmarked(cell: NotebookNode) -> NotebookNode:
    """Return a cell without its mark as an exercise, which no kernel reads."""
    return NotebookNode(cell, metadata={key: v for key, v in cell.metadata.items() if key != "exercise"})


def status(name: str, book: Book) -> Status:
    """Return whether a notebook is out of date, and why."""
    source, notebook = CHAPTERS / "src" / f"{name}.md", CHAPTERS / f"{name}.ipynb"
    if not (source.exists() and notebook.exists()):
        return Status(f"{name}: {source.name if notebook.exists() else notebook.name} is missing")
    try:
        built = nbformat.read(notebook, as_version=4)
    except (ValueError, nbformat.ValidationError):  # such as after a merge
        return Status(f"{name}: {notebook.name} is no notebook")
    new = rewritten(built, unexecuted(source, book))
    changed = changed_data(built) + changed_listings(built)
    if new != built:
        return Status(f"{name}: the cells differ from the source", None if changed else new)
    return Status(f"{name}: built before {', '.join(changed)} changed") if changed else Status("", new)


def all_stale(names: Iterable[str] = ()) -> list[str]:
    """Return the reason for each of these notebooks that is out of date or missing; by default, of all."""
    book = Book(ROOT)
    every = {path.stem for path in [*written(ROOT), *CHAPTERS.glob("*.ipynb")]}
    return list(filter(None, (status(name, book).reason for name in sorted(names or every))))


def made_of(opened: Iterable[str]) -> dict[str, str]:
    """Return a digest of each file of the project that a kernel opened, less code, environments, and caches.

    All files in a folder of weights count as opened if one is: Python does not see all that Rust opens.
    """
    paths = {(CHAPTERS / name).resolve() for name in opened}
    weights = [near for path in paths if path.is_relative_to(WEIGHTS) for near in path.parent.iterdir()]
    paths |= {path for path in weights if path.suffix != ".md"}
    ours = [path for path in paths if path.is_relative_to(ROOT) and not path.is_relative_to(sys.prefix)]
    names = sorted(path.relative_to(ROOT) for path in ours if path.is_file() and path.suffix not in CODE)
    hidden = (".", "_")
    return {
        name.as_posix(): digest(ROOT / name)
        for name in names
        if not any(folder.startswith(hidden) or folder.endswith(".egg-info") for folder in name.parent.parts)
    }


def digest(path: Path) -> str:
    """Return a digest of a file's bytes, or an empty string if there is no such file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""


def changed_data(notebook: NotebookNode) -> list[str]:
    """Return the data files of a notebook that have changed since it was built."""
    return [
        name
        for name, recorded in notebook.metadata.get("made_of", {}).items()
        if digest(ROOT / name) != recorded
    ]


def changed_listings(notebook: NotebookNode) -> list[str]:
    """Return the files that no longer contain a definition exactly as a notebook shows it."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pages = [output.get("data", {}).get("text/markdown", "") for output in outputs]
    shown = [(listing["module"], listing["source"]) for page in pages for listing in LISTING.finditer(page)]
    listings = [(f"{module.replace('.', '/')}.py", source) for module, source in shown]
    return sorted({name for name, source in listings if source not in definitions(ROOT / name)})


def definitions(path: Path) -> set[str]:
    """Return the source of each function, method and class in a file, as `inspect.getsource` finds it."""
    text = path.read_text("utf-8") if path.exists() else ""
    lines = text.splitlines(keepends=True)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    starts = [min(line.lineno for line in (node, *node.decorator_list)) for node in nodes]
    return {textwrap.dedent("".join(inspect.getblock(lines[start - 1 :]))).rstrip() for start in starts}
