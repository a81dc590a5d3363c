"""Which cells of a notebook another cell needs, read from their syntax trees.

A cell is needed if it defines or changes a name that is needed. What changes an object is estimated so that
rather too many cells are needed than too few.
"""

import ast
import builtins
import re
import symtable
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TypeVar

Part = TypeVar("Part", ast.ExceptHandler, ast.match_case)

MAGIC = re.compile(r"^(\s*)(?:%%.*|[%!].*|\?.*|.*\?)$", re.MULTILINE)  # a command for IPython, not Python
CHANGING = set(  # methods
    "add append clear discard extend insert load_state_dict pop popitem remove reverse setdefault sort step "
    "update".split()
)
READING = set(  # functions that change none of their arguments
    "abs all any bool check claim dict enumerate explore float format frozenset getattr hasattr int "
    "isinstance iter len list max min print range repr reversed round say set show_drag show_explorer "
    "show_figure show_slider show_source sorted str sum tuple type zip".split()
)


@dataclass(frozen=True)
class Names:
    """The names that a cell reads before it defines them, those that it defines, and the objects it changes.

    `fixed` are the names that it imports and the functions that it defines, which nothing changes in place.
    """

    needs: frozenset[str] = frozenset()
    defines: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    fixed: frozenset[str] = frozenset()


def parse_cell(source: str) -> ast.Module:
    """Parse a cell; commands for IPython are left out, and a cell with a syntax error counts as empty."""
    for text in (source, MAGIC.sub(r"\1pass", source)):
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError):
            continue
    return ast.Module([], [])


def preparation(trees: Iterable[ast.Module]) -> list[str]:
    """Return the import statements of cells, and the settings of what they import, `torch.manual_seed(0)`.

    Only statements at the top of a cell count, and only settings that use no other names.
    """
    imported: set[str] = set()
    lines = []
    for node in (node for tree in trees for node in tree.body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported |= _stored([node])
            lines.append(ast.unparse(node))
        elif _is_setting(node) and _names(node) <= imported:
            lines.append(ast.unparse(node))
    return lines


def _is_setting(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(ast.Call(ast.Attribute())):
            return True
        case ast.Assign(targets):
            return all(isinstance(target, ast.Attribute | ast.Subscript) for target in targets)
    return False


def names_in(tree: ast.Module) -> Names:
    """Return the names of a cell, without those that its import statements define."""
    body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    imported = frozenset(_stored(node for node in tree.body if node not in body))
    functions = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    flow = _Flow(set(imported))
    flow.follow(body)
    needs = flow.needs | (flow.later - flow.bound)
    return Names(frozenset(needs), frozenset(_stored(body)), frozenset(_changed(body)), imported | functions)


def needed_cells(cells: Sequence[Names], needs: Iterable[str]) -> list[int]:
    """Return the places of the cells that define or change what code after them needs, in order."""
    found: set[int] = set()
    needed = set(needs)
    fixed = set(dir(builtins)).union(*(cell.fixed for cell in cells))
    while True:
        new = [
            place
            for place, cell in enumerate(cells)
            if place not in found and needed & (cell.defines | (cell.changes - fixed))
        ]
        if not new:
            return sorted(found)
        found.update(new)
        needed.update(*(cells[place].needs for place in new))


class _Flow:
    """The names that statements read before they are bound; functions read those in `later` when called."""

    def __init__(self, bound: set[str]) -> None:
        self.bound = bound
        self.needs: set[str] = set()
        self.later: set[str] = set()

    def follow(self, body: Iterable[ast.stmt]) -> None:
        """Follow statements in their order."""
        for node in body:
            match node:
                case ast.For() | ast.AsyncFor():
                    self._read(ast.For(node.target, node.iter, [ast.Pass()], []))
                    self._branch([*node.body, *node.orelse])
                case ast.While():
                    self._read(ast.Expr(node.test))
                    self._branch([*node.body, *node.orelse])
                case ast.If():
                    self._read(ast.Expr(node.test))
                    self.bound |= self._branch(node.body) & self._branch(node.orelse)
                case ast.With() | ast.AsyncWith():
                    self._read(ast.With(node.items, [ast.Pass()]))
                    self.follow(node.body)
                case ast.Try() | ast.TryStar():
                    self._branch(node.body)
                    for handler in node.handlers:
                        self._read(ast.Try([ast.Pass()], [_emptied(handler)], [], []))
                        self._branch(handler.body)
                    self._branch(node.orelse)
                    self.follow(node.finalbody)
                case ast.Match():
                    self._read(ast.Match(node.subject, [_emptied(case) for case in node.cases]))
                    for case in node.cases:
                        self._branch(case.body)
                case _:
                    self._read(node)

    def _branch(self, body: Sequence[ast.stmt]) -> set[str]:
        """Follow statements that may not run, and return what is bound if they do."""
        before, self.bound = self.bound, set(self.bound)
        self.follow(body)
        after, self.bound = self.bound, before
        return after

    def _read(self, node: ast.stmt) -> None:
        """Read a statement without other statements in it, or a definition, and bind what it stores."""
        now, later = _loaded(node)
        self.needs |= now - self.bound
        self.later |= later
        if not isinstance(node, ast.Delete):
            self.bound |= _stored([node])


def _emptied(part: Part) -> Part:
    """Return a copy of a handler or a case without its statements."""
    copied = copy(part)
    copied.body = [ast.Pass()]
    return copied


def _loaded(node: ast.stmt) -> tuple[set[str], set[str]]:
    """Return the global names that a statement reads, and those that functions in it read when called."""
    table = symtable.symtable(ast.unparse(ast.fix_missing_locations(node)), "cell", "exec")
    now = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    now |= {target.id for target in _changed_in_place(node) if isinstance(target, ast.Name)}
    later = {
        symbol.get_name()
        for inner in _inside(table)
        for symbol in inner.get_symbols()
        if symbol.is_global() and symbol.is_referenced()
    }
    defines = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    return (now, later) if defines else (now | later, set())


def _changed_in_place(node: ast.stmt) -> list[ast.expr]:
    """Return the targets of `x += 1` and `del x`, which do not count as read otherwise."""
    match node:
        case ast.AugAssign():
            return [node.target]
        case ast.Delete():
            return node.targets
    return []


def _stored(body: Iterable[ast.stmt]) -> set[str]:
    """Return the global names that statements assign, also inside functions."""
    code = ast.unparse(ast.fix_missing_locations(ast.Module(list(body), [])))
    table = symtable.symtable(code, "cell", "exec")
    names = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    return names | {
        symbol.get_name()
        for inner in _inside(table)
        for symbol in inner.get_symbols()
        if symbol.is_declared_global() and symbol.is_assigned()
    }


def _inside(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """Yield the tables inside a table, at any depth."""
    for inner in table.get_children():
        yield inner
        yield from _inside(inner)


def _changed(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names of the objects that statements may change in place.

    That is: assigning to a part of it, calling a method of it as a statement or by a name that usually
    changes an object, and giving it to a function that is not known only to read.
    """
    nodes = [node for statement in body for node in ast.walk(statement)]
    changed: set[str] = set()
    for node in nodes:
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                changed |= _roots(node)
            case ast.AugAssign():
                changed |= _roots(node.target)
            case ast.Expr(ast.Call(ast.Attribute() as method)):
                changed |= _roots(method.value)
            case ast.Call(ast.Attribute(attr=name) as method) if name in CHANGING or name.endswith("_"):
                changed |= _roots(method.value)
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in READING):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            changed.update(*(_roots(value) for value in given))
    for node in nodes:  # another name of the same object, or of a part of it
        match node:
            case ast.For(target, source) if _names(target) & changed:
                changed |= _names(source)
            case ast.Assign(targets, source) if any(_names(target) & changed for target in targets):
                changed |= _roots(source)
    return changed


def _roots(node: ast.AST) -> set[str]:
    """Return the name at the beginning of `a.b[c].d()`, or no name."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _names(node: ast.AST) -> set[str]:
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
