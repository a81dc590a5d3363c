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

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"
PACKAGE = "annotated_transformer"

Files = dict[str, bytes]  # notebooks and code, by their paths in the project


def present() -> Files:
    """Return the notebooks and the code of the working tree."""
    places = [ROOT / PACKAGE, ROOT / "benchmarks", ROOT / "builder", CHAPTERS]
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
    paths = sorted({"builder/build.py", *imported(files[notebook], files)})
    parts = [files[notebook], *(f"{path}\n{parse(path, files[path]).text}".encode() for path in paths)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def overlooked(opened: Iterable[str], notebook: bytes, files: Files) -> list[str]:
    """Return the code files that a notebook's kernel opened although no import statement leads to them."""
    paths = {str((CHAPTERS / name).resolve()) for name in opened}
    rest = files.keys() - imported(notebook, files)
    return sorted(name for name in rest if paths & {str(ROOT / name), cache_from_source(str(ROOT / name))})


def imported(notebook: bytes, files: Files) -> set[str]:
    """Return the files to which import statements lead from a notebook's cells.

    A package imports what its table `EXPORTS` lists on first use. So a name from it leads only to that name's
    module, and the package as a whole to all of them.
    """
    cells = ["".join(cell["source"]) for cell in json.loads(notebook)["cells"] if cell["cell_type"] == "code"]
    waiting = [name for cell in cells for name in names(parse_cell(cell))]
    reached = set[tuple[str, bool]]()
    while waiting:
        name, whole = waiting.pop()
        package, _, attribute = name.rpartition(".")
        path, around = file_of(name, files), file_of(package, files)
        if path and (path, whole) not in reached:
            reached.add((path, whole))
            code = parse(path, files[path])
            waiting += [(package, False), *code.names]
            waiting += [(module, True) for module in code.exports.values() if whole]
        elif around and not path and (module := parse(around, files[around]).exports.get(attribute)):
            waiting.append((module, True))
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
    """The code of a file, the names that it imports, and the module of each name that it exports."""

    text: str
    names: frozenset[tuple[str, bool]]
    exports: dict[str, str]


@cache
def parse(path: str, content: bytes) -> Code:
    """Return the code of a file of Python or JavaScript."""
    if path.endswith(".js"):
        return Code(content.decode(), frozenset(), {})
    tree = WithoutDocstrings().visit(ast.parse(content, path))
    exports = take_exports(tree)
    return Code(ast.dump(tree), frozenset(names(tree)), exports)


def take_exports(tree: ast.Module) -> dict[str, str]:
    """Remove a table `EXPORTS` from code; return the module of each name that it lists, by the names.

    A chapter depends on the modules of the names that it imports, and not on the rest of the table.
    """
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "EXPORTS":
            tree.body.remove(node)
            table = ast.literal_eval(node.value)
            return {
                name: f"{PACKAGE}.{module}" for module, listed in table.items() for name in listed.split()
            }
    return {}


def parse_cell(cell: str) -> ast.Module:
    """Parse a cell; one with a magic command or a deliberate error is an empty module."""
    try:
        return ast.parse(cell)
    except SyntaxError:
        return ast.Module([], [])


class WithoutDocstrings(ast.NodeTransformer):
    """Removes the statements that are nothing but a string."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        """Keep other expressions."""
        return None if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str) else node


def names(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Yield the modules that code imports, as a whole or not, and the scripts that it mentions.

    What is imported from a module may be a module, too. What is under `if TYPE_CHECKING` is never executed.
    """
    match tree:
        case ast.If(test=ast.Name("TYPE_CHECKING")):
            return
        case ast.Import():
            yield from ((each.name, True) for each in tree.names)
        case ast.ImportFrom(module=str(module)):
            yield from ((module, False), *((f"{module}.{each.name}", True) for each in tree.names))
        case ast.Constant(value=str(text)) if text.endswith(".js"):
            yield text, True
    for child in ast.iter_child_nodes(tree):
        yield from names(child)
