"""Find the code that a chapter runs, and whether it has changed.

Code is the syntax tree without docstrings and comments. A chapter runs the code of its cells, and of this
project's modules that these import, directly or through other modules, at the top or inside functions. Import
statements can be followed without a kernel, so this also works for the last commit of a new clone.
"""

import ast
import hashlib
import json
import subprocess
import tarfile
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import cache_from_source
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

Files = dict[str, bytes]  # notebooks and code, by their paths in the project


def present() -> Files:
    """Return the notebooks and the code of the working tree."""
    places = [ROOT / "annotated_transformer", ROOT / "benchmarks", HERE]
    paths = [path for place in places for path in place.rglob("*") if path.suffix in {".py", ".js", ".ipynb"}]
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}


def committed() -> Files:
    """Return the notebooks and the code of the last commit; nothing if this is not a clone."""
    command = ["git", "archive", "HEAD", "*.py", "*.js", "*.ipynb"]
    try:
        archive = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # no git, or not a clone
        return {}
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        files = {member.name: tar.extractfile(member) for member in tar}
        return {name: file.read() for name, file in files.items() if file}


def fingerprint(notebook: str, files: Files) -> str:
    """Return a digest of a notebook and the code that it runs."""
    paths = sorted({"chapters/build.py", *imported(files[notebook], files)})
    parts = [files[notebook], *(f"{path}\n{parse(path, files[path]).text}".encode() for path in paths)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def overlooked(opened: Iterable[str], notebook: bytes, files: Files) -> list[str]:
    """Return the code files that a notebook's kernel opened although no import statement leads to them."""
    paths = {str((HERE / name).resolve()) for name in opened}
    rest = files.keys() - imported(notebook, files)
    return sorted(name for name in rest if paths & {str(ROOT / name), cache_from_source(str(ROOT / name))})


def imported(notebook: bytes, files: Files) -> set[str]:
    """Return the files to which import statements lead from a notebook's cells.

    A package imports the names under its `if TYPE_CHECKING` on first use. So they count only if the package
    itself is imported, not if only one of its modules is.
    """
    cells = ["".join(cell["source"]) for cell in json.loads(notebook)["cells"] if cell["cell_type"] == "code"]
    waiting = [(name, True) for cell in cells for name in names(parse_cell(cell))]
    reached = set[tuple[str, bool]]()
    while waiting:
        name, itself = waiting.pop()
        path = file_of(name, files)
        if path and (path, itself) not in reached:
            reached.add((path, itself))
            code = parse(path, files[path])
            waiting += [
                (imported_name, True) for imported_name in (code.names if itself else code.names_at_once)
            ]
            waiting.append((name.rpartition(".")[0], False))
    return {path for path, _ in reached}


def file_of(name: str, files: Files) -> str:
    """Return the file of a module or a script of this project; an empty string for other modules."""
    if name.endswith(".js"):
        return next((path for path in files if path.endswith(f"/{name}")), "")
    stems = [place + name.replace(".", "/") for place in ("", "chapters/")]  # a kernel runs in chapters
    return next(
        (path for stem in stems for path in (f"{stem}.py", f"{stem}/__init__.py") if path in files), ""
    )


class Code(NamedTuple):
    """The code of a file, the names that it imports, and those that it imports even if it uses none."""

    text: str
    names: frozenset[str]
    names_at_once: frozenset[str]


@cache
def parse(path: str, content: bytes) -> Code:
    """Return the code of a file of Python or JavaScript."""
    if path.endswith(".js"):
        return Code(content.decode(), frozenset(), frozenset())
    tree = WithoutDocstrings().visit(ast.parse(content, path))
    return Code(ast.dump(tree), frozenset(names(tree)), frozenset(names(tree, typing=False)))


def parse_cell(cell: str) -> ast.Module:
    """Parse a cell; a magic command or a deliberate error imports nothing."""
    try:
        return ast.parse(cell)
    except SyntaxError:
        return ast.Module([], [])


class WithoutDocstrings(ast.NodeTransformer):
    """Removes the statements that are nothing but a string."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        """Keep other expressions."""
        return None if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str) else node


def names(tree: ast.AST, *, typing: bool = True) -> Iterator[str]:
    """Yield the modules that code imports, and the scripts that it mentions.

    What is imported from a module may be a module, too. `typing` includes what is under `if TYPE_CHECKING`.
    """
    match tree:
        case ast.If(test=ast.Name("TYPE_CHECKING")) if not typing:
            return
        case ast.Import():
            yield from (each.name for each in tree.names)
        case ast.ImportFrom(module=str(module)):
            yield from (module, *(f"{module}.{each.name}" for each in tree.names))
        case ast.Constant(value=str(text)) if text.endswith(".js"):
            yield text
    for child in ast.iter_child_nodes(tree):
        yield from names(child, typing=typing)
