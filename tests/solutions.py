"""The solutions of the chapters' exercises, from which the tests of the checks make most wrong answers.

    solved = Solutions("masking")
    solved.local_mask  # the function `local_mask_solution` of that room's chapter
    solved.edited("local_mask", "-window", "-window - 1")  # the same with a mistake

A solution that needs more of its chapter than imports and functions is left out; nbval runs it, too.
"""

import ast
import builtins
import runpy
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from builder.chapters import parsed, written

ROOT = Path(__file__).resolve().parents[1]


@dataclass
class Page:
    """What the solutions of a chapter define, with the code of each, and what each gives to which check."""

    dtype: torch.dtype
    names: dict[str, Any] = field(default_factory=dict)
    codes: dict[str, str] = field(default_factory=dict)
    calls: dict[Any, tuple[Any, ...]] = field(default_factory=dict)


def run(body: Iterable[ast.stmt], names: dict[str, Any]) -> None:
    exec(compile(ast.Module([*body], []), "solution", "exec"), names)


def imported(page: Iterable[ast.stmt]) -> dict[str, ast.stmt]:
    """Return a statement that imports each name."""
    return {
        alias.asname or alias.name: type(node)(**{**vars(node), "names": [alias]})
        for node in page
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def free(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that statements read and do not define."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}
    return read - bound - defined - arguments - {*dir(builtins)}


def requirements(body: list[ast.stmt], page: Iterable[ast.stmt]) -> list[ast.stmt] | None:
    """Return the imports and the functions of a page that a solution needs, or None if it needs more."""
    functions = {node.name: node for node in page if isinstance(node, ast.FunctionDef)}
    needed = [functions[name] for name in free(body) if name in functions]
    missing, imports = free([*needed, *body]), imported(page)
    return [*(imports[name] for name in missing), *needed] if missing <= imports.keys() else None


@cache
def read(room: str) -> Page:
    """Execute the solutions of a room's chapter, with the imports and functions that they need."""
    (path,) = written(ROOT, f"[0-9]*_{room}")
    text = path.read_text("utf-8")
    page = Page(torch.float64 if "set_default_dtype(torch.float64)" in text else torch.float32)
    cells = [cell for cell in parsed(text).cells if cell.cell_type == "code"]
    statements = [node for cell in cells for node in ast.parse(cell.source).body]
    for cell in (cell for cell in cells if "solution" in cell.metadata.get("tags", [])):
        *body, last = ast.parse(cell.source).body
        before = requirements([*body, last], statements)
        if before is not None:
            known = {*page.names}
            run([*before, *body], page.names)
            called = [ast.unparse(node) for node in (last.value.func, *last.value.args)]
            check, *given = (eval(code, page.names) for code in called)
            page.calls[check] = tuple(given)
            page.codes |= dict.fromkeys(page.names.keys() - known, cell.source)
    return page


@dataclass(frozen=True)
class Solutions:
    """The solutions of a room's chapter, which are executed when the first of them is needed."""

    room: str

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return read(self.room).names[f"{name}_solution"]

    def edited(self, name: str, *changes: str) -> Callable[..., Any]:
        """Return a solution in whose code each second text replaces the one before it, which occurs once."""

        @cache
        def made() -> Callable[..., Any]:
            page, name_here = read(self.room), f"{name}_solution"
            code = page.codes[name_here]
            for old, new in zip(changes[::2], changes[1::2], strict=True):
                assert code.count(old) == 1, f"{old!r} occurs {code.count(old)} times in {name}"
                code = code.replace(old, new)
            names = {**page.names}
            run(ast.parse(code).body[:-1], names)
            return names[name_here]

        return lambda *given: made()(*given)


@cache
def answers_of(path: Path) -> tuple[dict[Any, list[Any]], dict[Any, list[Any]]]:
    """Return the right and the wrong answers to each check of a room, the chapter's solution first."""
    lists, room = runpy.run_path(str(path)), path.parent.name
    checks = import_module(f"annotated_transformer.book.chapters.{room}.exercises")
    own, wrong = (
        {getattr(checks, f"check_{name}"): answers for name, answers in lists[kind].items()}
        for kind in ("RIGHT", "WRONG")
    )
    right = {check: [given] for check, given in read(room).calls.items()}
    return {check: right.get(check, []) + own.get(check, []) for check in {**right, **own}}, wrong


@contextmanager
def as_on_its_page(path: Path) -> Iterator[None]:
    """Set PyTorch's default type of floats to that of a room's chapter."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(read(path.parent.name).dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
