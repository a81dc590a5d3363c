"""Draw wrong programs at random from the package's syntax tree.

A wrong program differs from ours in one place: an operator, a constant, a comparison, a statement that is
left out, two arguments that are swapped, or None instead of what a function returns. Half of a draw is spread
evenly over the package's folders, half over its files by size; in a file, the kinds of change are equally
likely. Some of these programs are equivalent to ours, so even perfect tests do not notice all of them.
"""

import ast
import copy
import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "annotated_transformer"
OPPOSITE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.And: ast.Or, ast.Or: ast.And,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
NOT_EXECUTED = ("annotation", "returns", "type_params")  # fields of a syntax tree
LEFT_OUT = (ast.Expr, ast.Assign, ast.AugAssign, ast.Raise, ast.If, ast.Delete)


@dataclass(frozen=True)
class Change:
    """A place in a file and what replaces it; `start` and `end` are offsets into the file's bytes."""

    file: str
    function: str  # its qualified name; empty outside functions and classes
    kind: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def name(self) -> str:
        """Return a line that describes the change."""
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.file}:{self.line} {self.kind}: {old[:60]} → {new[:60]}"

    def applied(self, source: str) -> str:
        """Return the file's text with the change."""
        data = source.encode()
        return (data[: self.start] + self.new.encode() + data[self.end :]).decode()

    def key(self) -> tuple[str, str, str, str, str]:
        """Return what identifies the change when lines and folders move."""
        return self.file.rpartition("/")[2], self.function, self.kind, self.old, self.new


def replacements(node: ast.AST, *, in_function: bool) -> Iterator[tuple[str, ast.AST]]:
    """Yield each kind of change of a node, with what replaces the node."""
    match node:
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign() if type(node.op) in OPPOSITE:
            yield "operator", changed(node, op=OPPOSITE[type(node.op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield "operator", node.operand
        case ast.Compare() if type(node.ops[0]) in OPPOSITE:
            yield "comparison", changed(node, ops=[OPPOSITE[type(node.ops[0])](), *node.ops[1:]])
        case ast.Constant(value=bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "constant", ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield "constant", ast.Constant(value * 2 or 1.0)
        case ast.Constant(value=str(value)):
            yield "constant", ast.Constant(f"{value}X")
        case ast.Call(args=[first, second, *rest]) if not isinstance(first, ast.Starred | ast.GeneratorExp):
            if not isinstance(second, ast.Starred) and ast.dump(first) != ast.dump(second):
                yield "arguments", changed(node, args=[second, first, *rest])
        case ast.Return(value=ast.expr() as value) if not (
            isinstance(value, ast.Constant) and value.value is None
        ):
            yield "returned", ast.Return(ast.Constant(None))
    if in_function and isinstance(node, LEFT_OUT) and not (isinstance(node, ast.If) and node.orelse):
        yield "statement", ast.Pass()


def changed(node: ast.AST, **fields: object) -> ast.AST:
    """Return a copy of a node with other fields."""
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def changes(file: str, source: str) -> list[Change]:
    """Return all changes of a file; a few of them are not valid Python."""
    lines = [0, *itertools.accumulate(len(line.encode()) for line in source.splitlines(keepends=True))]
    data, all_of_file = source.encode(), list[Change]()

    def visit(node: ast.AST, function: str, *, inside: bool) -> None:
        if isinstance(node, ast.JoinedStr):
            return  # Python 3.11 does not know where the parts of an f-string are
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            function = f"{function}.{node.name}".strip(".")
            inside = inside or not isinstance(node, ast.ClassDef)
        for kind, new in replacements(node, in_function=inside):
            start = lines[node.lineno - 1] + node.col_offset
            end = lines[node.end_lineno - 1] + node.end_col_offset
            text = f"({ast.unparse(new)})" if isinstance(new, ast.expr) else ast.unparse(new)
            old = data[start:end].decode()
            all_of_file.append(Change(file, function, kind, node.lineno, start, end, old, text))
        body = getattr(node, "body", None)
        for name, value in ast.iter_fields(node):
            if name in NOT_EXECUTED:
                continue
            for child in value if isinstance(value, list) else [value]:
                docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
                if isinstance(child, ast.AST) and not (docstring and value is body):
                    visit(child, function, inside=inside)

    visit(ast.parse(source), "", inside=False)
    return all_of_file


def is_valid(source: str) -> bool:
    """Return whether Python can compile a text."""
    try:
        compile(source, "", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def all_changes(root: Path, folders: Sequence[str] = ()) -> dict[str, list[Change]]:
    """Return the changes of each of the package's files, or of those in some of its folders."""
    for folder in folders:
        if not (root / PACKAGE / folder).is_dir():
            raise SystemExit(f"the package has no folder {folder}")
    homes = [root / PACKAGE / folder for folder in folders or ("",)]
    paths = sorted({path for home in homes for path in home.rglob("*.py")})
    names = [path.relative_to(root).as_posix() for path in paths]
    by_file = {name: changes(name, (root / name).read_text("utf-8")) for name in names}
    return {name: places for name, places in by_file.items() if places}


def draw(root: Path, count: int, seed: int, folders: Sequence[str] = ()) -> list[Change]:
    """Draw different changes: half evenly over the folders, half over the files by size."""
    files = all_changes(root, folders)
    rng = random.Random(seed)
    by_folder: dict[str, list[str]] = {}
    for name in files:
        by_folder.setdefault(name.split("/")[1] if name.count("/") > 1 else "", []).append(name)
    drawn: dict[Change, None] = {}
    turns = itertools.cycle([*by_folder.values()])
    while len(drawn) < count:
        names = next(turns) if len(drawn) < count // 2 else [*files]
        name = rng.choices(names, [len(files[name]) for name in names])[0]
        kind = rng.choice(sorted({change.kind for change in files[name]}))
        change = rng.choice([change for change in files[name] if change.kind == kind])
        if is_valid(change.applied((root / name).read_text("utf-8"))):
            drawn[change] = None
    return [*drawn]


def still_there(old: Iterable[Change], files: dict[str, list[Change]]) -> dict[Change, Change]:
    """Return where each change of another version of the package is now, if its function still has it."""
    now: dict[tuple[str, ...], list[Change]] = {}
    for change in itertools.chain.from_iterable(files.values()):
        now.setdefault(change.key(), []).append(change)
    return {change: now[change.key()][0] for change in old if len(now.get(change.key(), [])) == 1}
