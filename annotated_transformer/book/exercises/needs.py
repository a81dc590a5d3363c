"""Which cells of a notebook an exercise needs: those that make what its code reads, or that may change it.

A cell may change a value where it assigns to its attribute or item, calls its method as a statement, or gives
it to a function that is neither the book's nor Python's. Such a statement about what is imported from
elsewhere, such as `os.chdir("data")`, may change anything; a seed changes nothing. A change by another name
of the same value is not seen: following these would keep three times as many of the book's cells.
"""

import ast
import builtins
import dis
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from types import CodeType
from typing import NamedTuple

from IPython.core.inputtransformer2 import TransformerManager

SHELL = "get_ipython"  # the function that `%cd data` and `!make` call
BUILTINS = frozenset(dir(builtins)) - {SHELL}


class Names(NamedTuple):
    """Global names of a cell: those that it reads, that its functions read when called, that it stores.

    Then those that it may change, after the function that does it, and those that it imports, with modules.
    """

    read: set[str]
    later: set[str]
    stored: set[str]
    changed: set[tuple[str, str]]
    imported: set[tuple[str, str]]


def cells_for(sources: Sequence[str], places: Iterable[int]) -> list[int]:
    """Return the places of some cells and of those before them that they need, in order."""
    roots, kept, cells = {*places}, list[int](), [names_of(source) for source in sources]
    imports = set[tuple[str, str]]().union(*(cell.imported for cell in cells))
    ours = {name for name, module in imports if module.startswith("annotated_transformer.book")}
    names = {SHELL, *(name for name, module in imports if not module.startswith("annotated_transformer"))}
    for place in range(max(roots, default=-1), -1, -1):
        changed = {name for by, name in cells[place].changed if by not in ours | BUILTINS}
        if place in roots or (cells[place].stored | changed) & names:
            names |= cells[place].read
            kept.insert(0, place)
            while more := set[str]().union(*(cell.later for cell in cells if cell.stored & names)) - names:
                names |= more
    return kept


@cache
def names_of(source: str) -> Names:
    """Return the global names of a cell."""
    try:
        cell = TransformerManager().transform_cell(source)  # type: ignore[no-untyped-call]
        code = compile(cell, "", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        nodes = [*ast.walk(ast.parse(cell))]
    except Exception:  # whatever the compiler has against a reader's code, which is then executed in any case
        return Names(set(), set(), {SHELL}, set(), set())
    used, inner = [*_globals(code)], [each for each in code.co_consts if isinstance(each, CodeType)]
    return Names(
        read={name for operation, name in used if operation.startswith("LOAD_")} - BUILTINS,
        later={name for each in inner for _, name in _globals(each)} - BUILTINS,
        stored={name for operation, name in used if not operation.startswith("LOAD_")},
        changed={pair for node in nodes for pair in _changed(node)},
        imported={
            ((alias.asname or alias.name).partition(".")[0], getattr(node, "module", None) or alias.name)
            for node in nodes
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        },
    )


def _globals(code: CodeType) -> Iterator[tuple[str, str]]:
    """Yield what compiled code, or a function in it, does with a global name, and the name."""
    for step in dis.get_instructions(code):
        if step.opname.endswith(("_NAME", "_GLOBAL", "_GLOBALS")) and step.opname != "IMPORT_NAME":
            yield step.opname, str(step.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals(constant)


def _changed(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the names whose values a part of a cell may change, and by which function, if it is one."""
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        yield "", _root(node)
    elif isinstance(node, ast.Expr) and isinstance(call := node.value, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr != "manual_seed":
            yield _root(call), _root(call)
    elif isinstance(node, ast.Call):
        for value in [*node.args, *(word.value for word in node.keywords)]:
            if isinstance(value, ast.Name):
                yield _root(node), value.id


def _root(node: ast.AST) -> str:
    """Return "x" for `x.y[0].z()`."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
