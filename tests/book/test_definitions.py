"""Each function and class is defined once: chapters import the package instead of redefining its names."""

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import torch

from builder.chapters import written
from builder.source import parsed

ROOT = Path(__file__).resolve().parents[2]
READERS = {"exercise", "solution"}  # code written by readers may use any name
OWN_PARTS = "own_parts.md"  # its classes are examples of a reader's own
DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
PYTORCH = {name for name in {*dir(torch), *dir(torch.nn.functional)} if not name.startswith("_")}


def package() -> dict[str, str]:
    """Return the source of each module of the package and of the site."""
    folders = (ROOT / "annotated_transformer", ROOT / "builder" / "site", ROOT / "builder" / "explorer")
    paths = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths}


def definitions(code: str) -> list[str]:
    """Return the names of a module's top-level functions and classes; signatures of an overload are none."""
    found = [node for node in ast.parse(code).body if isinstance(node, DEFINITION)]
    return [node.name for node in found if "overload" not in map(ast.unparse, node.decorator_list)]


def defined_twice(modules: dict[str, str]) -> list[str]:
    """Return the names that two modules define, but for private ones, `setup`, and drawings."""
    places = defaultdict(list)
    for path, code in modules.items():
        for name in definitions(code):
            if not name.startswith(("_", "draw_")) and not (name == "setup" and "sphinx" in code):
                places[name].append(path)
    return [f"{name}: {', '.join(paths)}" for name, paths in sorted(places.items()) if len(paths) > 1]


def second_definitions(chapter: str, names: Iterable[str]) -> list[str]:
    """Return the names and code that a chapter redefines instead of importing."""
    wrong = []
    for code in cells(chapter):
        for node in ast.walk(ast.parse(code)):
            name = defined(node)
            if name in names:
                wrong.append(f"{name} is the package's: import it")
            elif name in PYTORCH:
                wrong.append(f"{name} is PyTorch's: call it")
            elif isinstance(node, ast.ClassDef):
                wrong.append(f"class {name}: a class belongs into the package, tested")
    return wrong


def cells(chapter: str) -> list[str]:
    """Return the code cells of a chapter, without those of exercises."""
    found = parsed(chapter).cells
    code = [cell for cell in found if cell.cell_type == "code"]
    return [cell.source for cell in code if not READERS & set(cell.metadata.get("tags", []))]


def defined(node: ast.AST) -> str:
    if isinstance(node, DEFINITION):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
        return ast.unparse(node.targets[0])
    return ""


def test_law_no_chapter_redefines_names_of_the_package():
    own = "annotated_transformer/book/chapters/"  # no chapter draws with what another one's room has
    names = {
        name
        for path, code in package().items()
        for name in definitions(code)
        if not (path.startswith(own) and name.startswith("draw_"))
    }
    assert "attention_weights" in names
    sources = [source for source in written(ROOT) if source.name != OWN_PARTS]
    assert [line for source in sources for line in second_definitions(source.read_text("utf-8"), names)] == []


def test_law_the_package_defines_nothing_twice():
    assert defined_twice(package()) == []
