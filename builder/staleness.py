"""Say whether a notebook is out of date: whether its texts, its code, or what it was made of has changed.

Its metadata has a digest of each file that it was `made_of`: the code of its room, and the data that its
kernel opened. Texts and the values of claims in them are filled in without executing anything.
"""

import hashlib
import json
import sys
from collections.abc import Iterable
from copy import deepcopy
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbformat import NotebookNode

from annotated_transformer import __version__
from annotated_transformer.book.explorer.kept import DRAWN
from annotated_transformer.book.grading import starter_digest
from builder.book import Book
from builder.chapters import CHAPTERS, ROOT, written
from builder.explorer import still
from builder.reader import complete, read_cells
from builder.source import notebook_of, read

WEIGHTS = ROOT / "annotated_transformer" / "weights"
CODE = {".py", ".pyi", ".js"}


def text_of(notebook: NotebookNode) -> str:
    """Return the text of a notebook's file."""
    nbformat.validate(notebook)
    return nbformat.writes(notebook, sort_keys=True, indent=1, ensure_ascii=False) + "\n"


class Status(NamedTuple):
    """Why a notebook is out of date, or nothing; and the notebook up to date, if no code differs.

    It may also be that words of the source are `refused`, for the reasons, a line each.
    """

    reason: str
    rewritten: NotebookNode | None = None
    refused: bool = False


def unexecuted(source: Path, book: Book) -> NotebookNode:
    """Return the notebook that a source gives, without outputs."""
    notebook = notebook_of(source)
    notebook.cells = read_cells(notebook, book, source.stem)
    marks = [cell.metadata.exercise.id for cell in notebook.cells if "exercise" in cell.metadata]
    if marks:  # for `grade`, which names those that a reader has deleted
        notebook.metadata |= {"exercises": marks, "book_version": __version__}
    return notebook


def rewritten(built: NotebookNode, new: NotebookNode) -> NotebookNode | None:
    """Give the `new` notebook the outputs of the one built before; return it, or None if its code differs."""
    cells, before = ([cell for cell in each.cells if cell.cell_type == "code"] for each in (new, built))
    if [cell.id for cell in cells] != [cell.id for cell in before]:  # digests of their code
        return None
    for cell, old in zip(cells, before, strict=True):
        cell.outputs, cell.execution_count = deepcopy(old.get("outputs", [])), old.get("execution_count")
    complete(new.cells)
    new.metadata.made_of = built.metadata.get("made_of", {})
    return new


def status(name: str, book: Book, *, redraw: bool = False) -> Status:
    """Return whether a notebook is out of date, and why, or whether words of its source are refused.

    To `redraw` is to draw what the explorer's scripts now draw otherwise.
    """
    source, notebook = CHAPTERS / "src" / f"{name}.md", CHAPTERS / f"{name}.ipynb"
    if not (source.exists() and notebook.exists()):
        return Status(f"{name}: {source.name if notebook.exists() else notebook.name} is missing")
    try:
        built = nbformat.read(notebook, as_version=4)
    except (ValueError, nbformat.ValidationError):  # such as after a merge
        return Status(f"{name}: {notebook.name} is no notebook")
    recorded = built.metadata.get("made_of", {}).items()
    if changed := [file for file, before in recorded if digest(ROOT / file) != before]:
        return Status(f"{name}: built before {', '.join(changed)} changed")
    try:
        new = rewritten(built, unexecuted(source, book))
    except ValueError as error:
        return Status("\n".join(f"{name}: {line}" for line in str(error).splitlines()), refused=True)
    if stale := list(still.refresh(new.cells, redraw=redraw)) if new else []:
        return Status(f"{name}: figure {', '.join(stale)} must be drawn again", new)
    if new == built:
        return Status("", new)
    return Status(f"{name}: the cells differ from the source{difference(built, new) if new else ''}", new)


def difference(built: NotebookNode, new: NotebookNode) -> str:
    """Return where the texts of two notebooks first differ."""
    before, after = ("\n".join(cell.source for cell in each.cells) for each in (built, new))
    letters = enumerate(zip_longest(before, after))
    at = next((at for at, (one, other) in letters if one != other), 0)
    start = max(at - 30, after.rfind("\n", 0, at) + 1)
    was, now = (" ".join(text[start : start + 70].split()) for text in (before, after))
    return f", which gives “{now}”, not “{was}”" if was != now else ""


def all_stale(names: Iterable[str] = ()) -> list[str]:
    """Return the reason for each of these notebooks that is out of date or missing; by default, of all."""
    book = Book(ROOT)
    every = {path.stem for path in [*written(ROOT), *CHAPTERS.glob("*.ipynb")]}
    return list(filter(None, (status(name, book).reason for name in sorted(names or every))))


def exercise_table() -> str:
    """Return what `grade` judges by: the version, and for each exercise its check and its code's digest."""
    lines = [f'"version": "{__version__}"']
    for path in written(ROOT, "[0-9]*"):
        source = read(path)
        exercises = {each.number: (each.check, starter_digest(each.code)) for each in source.exercises}
        lines.append(f'"{source.number}": {json.dumps(exercises)}')
    return "{" + ",\n".join(lines) + "}\n"


def made_of(name: str, opened: Iterable[str]) -> dict[str, str]:
    """Return a digest of each file of the chapter's room, and of the project's data that a kernel opened.

    All files in a folder of weights count as opened if one is: Python does not see all that Rust opens.
    """
    room = ROOT / "annotated_transformer" / "book" / "chapters" / name.partition("_")[2]
    paths = {(CHAPTERS / file).resolve() for file in opened}
    weights = [near for path in paths if path.is_relative_to(WEIGHTS) for near in path.parent.iterdir()]
    paths |= {path for path in weights if path.suffix != ".md"}
    ours = [path for path in paths if path.is_relative_to(ROOT) and not path.is_relative_to(sys.prefix)]
    data = [path for path in ours if path.is_file() and path.suffix not in CODE and path.parent != DRAWN]
    code = [path for path in room.glob("*") if path.suffix in CODE]
    hidden = (".", "_")
    return {
        file.as_posix(): digest(ROOT / file)
        for file in sorted(path.relative_to(ROOT) for path in [*code, *data])
        if not any(folder.startswith(hidden) or folder.endswith(".egg-info") for folder in file.parent.parts)
    }


def digest(path: Path) -> str:
    """Return a digest of a file's bytes, or an empty string if there is no such file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""
