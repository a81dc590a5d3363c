"""The package's own source, shown in a chapter so that no chapter carries a copy of it.

A reader first sees the core, made from the source by a program: the signature without types, the body without
its docstring and without what only refuses bad arguments. The complete source is one click below.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator

from annotated_transformer.book.output import CellOutput

PACKAGE = __name__.partition(".")[0]
PAGE_COLUMNS = 88  # a longer line of code would be cut at the edge of the page

Definition = ast.FunctionDef | ast.ClassDef


def show_source(thing: Callable[..., object] | type) -> CellOutput:
    """Show the core of a function, method or class of this package, with its complete source below.

    Raises:
        TypeError: `thing` is something else, or comes from another package.
        ValueError: A line of it is too long for the page.
    """
    module = getattr(thing, "__module__", "") or ""
    readable = inspect.isroutine(thing) or inspect.isclass(thing)
    if not readable or module.partition(".")[0] != PACKAGE:
        raise TypeError(
            f"show_source got {thing!r}; give it a function, a method or a class of {PACKAGE}, "
            "so that the chapter shows the code that the model runs"
        )
    name = thing.__qualname__
    heading = f"# {module}" if "." not in name else f"# {module}, {name}"  # a method: with its class
    source = textwrap.dedent(inspect.getsource(thing)).rstrip()
    for line in source.splitlines():
        if len(line) > PAGE_COLUMNS:
            raise ValueError(
                f"{name} has a line of {len(line)} characters, the page has room for {PAGE_COLUMNS}; "
                f"wrap it: {line.strip()}"
            )
    complete = _fenced(f"{heading}\n{source}")
    return CellOutput(
        f"{_fenced(core(source))}\n\n"
        f'<details class="at-source"><summary>{heading[2:]}: the complete source</summary>\n\n'
        f"{complete}\n\n</details>"
    )


def core(source: str) -> str:
    """Return the essence of a definition: no types, no docstrings, no refusals; comments stay."""
    lines: list[str | None] = list(source.splitlines())
    (definition,) = ast.parse(source).body
    for block in _blocks(definition):
        for statement in filter(_refuses, block):
            _replace(lines, statement.lineno, statement.end_lineno or statement.lineno, None)
    nodes = [node for node in ast.walk(definition) if isinstance(node, Definition)]
    for node in nodes:
        for decorator in filter(_only_refuses, node.decorator_list):
            _replace(lines, decorator.lineno, decorator.end_lineno or decorator.lineno, None)
        for statement in node.body:
            if statement is node.body[0] and ast.get_docstring(node) is not None:
                _replace(lines, statement.lineno, statement.end_lineno or statement.lineno, None)
            elif isinstance(statement, ast.AnnAssign) and statement.value:
                line = (lines[statement.lineno - 1] or "").encode()  # ast counts in bytes
                start, end = statement.target.end_col_offset, statement.annotation.end_col_offset
                lines[statement.lineno - 1] = (line[:start] + line[end:]).decode()
        if all(lines[statement.lineno - 1] is None for statement in node.body):
            lines[node.body[0].lineno - 1] = f"{' ' * node.body[0].col_offset}..."
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            signature, body = _signature(node), node.body[0]
            if body.lineno == node.lineno:  # all on one line
                lines[node.lineno - 1] = f"{signature} {(lines[node.lineno - 1] or '')[body.col_offset :]}"
                continue
            end = node.lineno
            while not (lines[end - 1] or "").partition("#")[0].rstrip().endswith(":"):
                end += 1
            _replace(lines, node.lineno, end, signature)
    kept = "\n".join(line.rstrip() for line in lines if line is not None)
    return re.sub(r":\n\n+", ":\n", re.sub(r"\n{3,}", "\n\n", kept))


def _replace(lines: list[str | None], first: int, last: int, text: str | None) -> None:
    """Put `text` in place of the lines `first` to `last`, counted from 1; None removes them."""
    lines[first - 1 : last] = [text, *[None] * (last - first)]


def _blocks(definition: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the blocks of statements of which something is left without refusals."""
    for node in ast.walk(definition):
        block = getattr(node, "body", None)
        if isinstance(block, list) and (isinstance(node, Definition) or not all(map(_refuses, block))):
            yield block


def _refuses(statement: ast.stmt) -> bool:
    """Return whether a statement only checks something: `if …: raise …`, or a call of `refuse_…`."""
    if isinstance(statement, ast.If):
        return not statement.orelse and all(isinstance(then, ast.Raise) for then in statement.body)
    return isinstance(statement, ast.Expr) and ast.unparse(statement).lstrip("_").startswith("refuse_")


def _only_refuses(decorator: ast.expr) -> bool:
    """Return whether a decorator only checks the kinds of arguments."""
    return ast.unparse(decorator) == "refuses_other_kinds"


def _signature(node: ast.FunctionDef) -> str:
    """Return a function's first line without types, broken where it would not fit the page."""
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    for argument in [*every, *filter(None, (node.args.vararg, node.args.kwarg))]:
        argument.annotation = None
    indent, arguments = " " * node.col_offset, ast.unparse(node.args)
    line = f"{indent}def {node.name}({arguments}):"
    if len(line) <= PAGE_COLUMNS:
        return line
    wrapped = textwrap.fill(
        arguments, PAGE_COLUMNS, initial_indent=indent + "    ", subsequent_indent=indent + "    "
    )
    return f"{indent}def {node.name}(\n{wrapped},\n{indent}):"


def _fenced(code: str) -> str:
    fence = "````" if "```" in code else "```"
    return f"{fence}python\n{code}\n{fence}"
