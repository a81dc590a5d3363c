"""The exercises of a notebook: the metadata that marks their cells, and what to execute to grade one.

A chapter's notebook marks the text of an exercise with `{"exercise": {"id": "3.2"}}` and its code with the
same id, a digest of the code as the reader finds it, and the call that checks the answer.
"""

import ast
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotated_transformer.book.grading.dependencies import names_in, needed_cells, parse_cell, preparation

NOT_EXECUTED = {"setup", "solution"}  # tags


@dataclass(frozen=True)
class Task:
    """An exercise of a notebook; `untouched` if its code is as the book gives it, comments and layout apart.

    To grade it, execute the `preparation` and the `cells`, the answer among them, and then the `check`.
    Without a check, it cannot be graded.
    """

    id: str
    check: str = ""
    untouched: bool = False
    preparation: Sequence[str] = field(default=(), repr=False)
    cells: Sequence[str] = field(default=(), repr=False)


def mark(id: str, source: str = "") -> dict[str, str]:
    """Return the metadata `exercise` of an exercise's text, or of its code."""
    if not source:
        return {"id": id}
    last = ast.parse(source).body[-1]
    check = ast.unparse(last) if isinstance(last, ast.Expr) and "check_" in ast.unparse(last) else ""
    return {"id": id, "starter": starter_digest(source)} | ({"check": check} if check else {})


def starter_digest(source: str) -> str:
    """Return a digest of what a cell's code says, without its comments and its layout."""
    tree = parse_cell(source)
    text = "".join(ast.unparse(tree).split()) if tree.body else source
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_exercises(path: Path) -> list[Task]:
    """Return the exercises of a notebook, in their order.

    Raises:
        ValueError: It is not a notebook of Python, or none of its cells is marked as an exercise.
        OSError: It cannot be read.
    """
    cells = [cell for cell in _read_cells(path) if not NOT_EXECUTED & set(_metadata(cell).get("tags", ()))]
    marks = [_metadata(cell).get("exercise", {}) for cell in cells]
    ids = list(dict.fromkeys(str(each["id"]) for each in marks if isinstance(each, dict) and "id" in each))
    if not ids:
        raise ValueError(
            "its exercises have no ids, as in older copies; put the answers into a new copy of the chapter"
            if any(_source(cell).startswith("### Exercise ") for cell in cells)
            else "it has no exercises; give a copy of a chapter of this book"
        )
    code = [
        _Cell(_source(cell), each if isinstance(each, dict) else {})
        for cell, each in zip(cells, marks, strict=True)
        if cell["cell_type"] == "code"
    ]
    return [_exercise(id, code) for id in ids]


def _read_cells(path: Path) -> list[dict[str, Any]]:
    """Return the cells of a notebook.

    Raises:
        ValueError: It is not a notebook of Python in the format that Jupyter has written since 2015.
    """
    try:
        notebook = json.loads(path.read_bytes())
        cells, kernel = notebook.get("cells"), notebook.get("metadata", {})
        language = kernel.get("kernelspec", {}).get("language") or kernel.get("language_info", {}).get("name")
        whole = isinstance(cells, list) and all({"cell_type", "source"} <= cell.keys() for cell in cells)
    except (ValueError, AttributeError, RecursionError) as error:
        raise ValueError("it is not a notebook; give a file that Jupyter has saved, *.ipynb") from error
    if not whole:
        raise ValueError("it has no cells, as in notebook formats before 4; save it with JupyterLab")
    if language not in ("python", None):
        raise ValueError(f"its language is {language}; give a notebook of Python")
    return list(cells)


def _metadata(cell: Mapping[str, Any]) -> dict[str, Any]:
    found = cell.get("metadata")
    return found if isinstance(found, dict) else {}


def _source(cell: Mapping[str, Any]) -> str:
    return "".join(cell["source"])  # one string, or one for each line


class _Cell:
    """The code of a cell, and its mark; both are read once for all exercises."""

    def __init__(self, source: str, mark: Mapping[str, Any]) -> None:
        self.source, self.mark = source, mark
        self.tree = parse_cell(source)
        self.names = names_in(self.tree)


def _exercise(id: str, code: Sequence[_Cell]) -> Task:
    """Return an exercise, given all code of its notebook.

    Its own code may be in several cells: readers split and copy them.
    """
    own = [place for place, cell in enumerate(code) if str(cell.mark.get("id")) == id]
    checks = [check for place in own if (check := code[place].mark.get("check"))]
    if not checks:
        return Task(id)
    untouched = all(starter_digest(code[place].source) == code[place].mark.get("starter") for place in own)
    before = code[: own[-1] + 1]
    check = str(checks[-1])
    needs = [names_in(parse_cell(check)).needs, *(code[place].names.needs for place in own)]
    needed = needed_cells([cell.names for cell in before], set().union(*needs))
    return Task(
        id,
        check,
        untouched,
        preparation(cell.tree for cell in before),
        [without(check, code[place].source) for place in sorted({*needed, *own})],
    )


def without(check: str, source: str) -> str:
    """Return the code of a cell without its last statement if this is the check, which runs at the end."""
    body = parse_cell(source).body
    if not body or ast.unparse(body[-1]) != check:
        return source
    return "".join(source.splitlines(keepends=True)[: body[-1].lineno - 1])
