"""Each function and class is defined once: chapters import the package instead of redefining its names."""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
import torch

from builder.chapters import written
from builder.source import HIDDEN, parsed

ROOT = Path(__file__).resolve().parents[2]
READERS = {"exercise", "solution"}  # code written by readers may use any name
WHOLE = ROOT / "annotated_transformer/book/from_scratch/whole_transformer.py"
OWN_PARTS = "own_parts.md"  # its classes are examples of a reader's own
DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
PYTORCH = {name for name in {*dir(torch), *dir(torch.nn.functional)} if not name.startswith("_")}


def definitions(code: str) -> list[str]:
    """Return the names of a module's top-level functions and classes; signatures of an overload are none."""
    found = [node for node in ast.parse(code).body if isinstance(node, DEFINITION)]
    return [node.name for node in found if "overload" not in map(ast.unparse, node.decorator_list)]


@pytest.fixture(scope="module")
def names() -> dict[str, list[str]]:
    """Return which modules of the package and of the site define a name; drawings belong to their rooms.

    Those of the whole Transformer in one file, the one second copy, do not count.
    """
    places = defaultdict(list)
    for folder in ("annotated_transformer", "builder/site", "builder/explorer"):
        for path in sorted({*(ROOT / folder).rglob("*.py")} - {WHOLE}):
            code, own_room = path.read_text("utf-8"), "book/chapters/" in path.as_posix()
            for name in definitions(code):
                if not (own_room and name.startswith("draw_")) and not (name == "setup" and "sphinx" in code):
                    places[name].append(str(path.relative_to(ROOT)))
    return places


def second_definitions(code: str, names: Collection[str], *, visible: bool) -> Iterator[str]:
    """Yield what a cell defines instead of importing; a class that a reader sees is an experiment."""
    for node in ast.walk(ast.parse(code)):
        name = getattr(node, "name", "") if isinstance(node, DEFINITION) else ""
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            name = ast.unparse(node.targets[0])
        if name in names:
            yield f"{name} is the package's: import it"
        elif name in PYTORCH:
            yield f"{name} is PyTorch's: call it"
        elif isinstance(node, ast.ClassDef) and not visible:
            yield f"class {name}: a class belongs into the package, tested"


def test_law_no_chapter_redefines_names_of_the_package(names: dict[str, list[str]]):
    assert "attention_weights" in names
    texts = [path.read_text("utf-8") for path in written(ROOT) if path.name != OWN_PARTS]
    for cell in (cell for text in texts for cell in parsed(text).cells if cell.cell_type == "code"):
        tags = {*cell.metadata.get("tags", [])}
        if not READERS & tags:
            assert [*second_definitions(cell.source, names, visible=not tags & HIDDEN)] == []


def test_law_the_package_defines_nothing_twice(names: dict[str, list[str]]):
    twice = {name: paths for name, paths in names.items() if len(paths) > 1}
    assert [name for name in twice if not name.startswith(("_", "draw_"))] == [], twice
