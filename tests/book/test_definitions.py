"""There is one definition of each thing: a chapter imports the package and defines no second copy."""

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import jupytext

ROOT = Path(__file__).resolve().parents[2]
READERS = {"exercise", "solution"}  # what a reader writes may have any name
DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def package() -> dict[str, str]:
    """Return the text of each module of the package."""
    paths = sorted((ROOT / "annotated_transformer").rglob("*.py"))
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths}


def definitions(code: str) -> list[str]:
    """Return the names of the functions and classes that a module defines at its top."""
    return [node.name for node in ast.parse(code).body if isinstance(node, DEFINITION)]


def defined_twice(modules: dict[str, str]) -> list[str]:
    """Return the names that two modules define; a helper of one module, `_like_this`, is its own affair."""
    places = defaultdict(list)
    for path, code in modules.items():
        for name in definitions(code):
            if not name.startswith("_"):
                places[name].append(path)
    return [f"{name}: {', '.join(paths)}" for name, paths in sorted(places.items()) if len(paths) > 1]


def second_definitions(chapter: str, names: Iterable[str]) -> list[str]:
    """Return what a chapter defines that it should import."""
    wrong = []
    for cell in jupytext.reads(chapter, fmt="md:myst").cells:
        if cell.cell_type != "code" or READERS & set(cell.metadata.get("tags", [])):
            continue
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, DEFINITION) and node.name in set(names):
                wrong.append(f"{node.name} is the package's: import it")
            elif isinstance(node, ast.ClassDef):
                wrong.append(f"class {node.name}: a class belongs into the package, tested")
    return wrong


def test_law_no_chapter_defines_what_the_package_has():
    names = {name for code in package().values() for name in definitions(code)}
    assert "attention_weights" in names
    sources = sorted((ROOT / "chapters" / "src").glob("*.md"))
    assert {p.name: second_definitions(p.read_text("utf-8"), names) for p in sources} == {
        p.name: [] for p in sources
    }


def test_law_the_package_defines_nothing_twice():
    assert defined_twice(package()) == []


CHAPTER = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
---

```{code-cell} ipython3
:tags: [TAG]

if True:
    def NAME(x):
        return x
```
"""


def test_law_a_second_definition_is_found_unless_a_reader_writes_it():
    names = ["softmax", "Encoder"]
    chapter = CHAPTER.replace("TAG", "hide-input")
    assert second_definitions(chapter.replace("NAME", "mine"), names) == []
    assert second_definitions(chapter.replace("NAME", "softmax"), names) == [
        "softmax is the package's: import it"
    ]
    assert second_definitions(chapter.replace("def NAME(x)", "class Encoder"), names) == [
        "Encoder is the package's: import it"
    ]
    assert second_definitions(chapter.replace("def NAME(x)", "class Mine"), names) == [
        "class Mine: a class belongs into the package, tested"
    ]
    assert second_definitions(CHAPTER.replace("TAG", "solution").replace("NAME", "softmax"), names) == []


def test_law_a_copy_within_the_package_is_found():
    assert defined_twice(
        {"a.py": "def f(): ...", "b.py": "class f: ...", "c.py": "class A:\n def f(self): ..."}
    ) == ["f: a.py, b.py"]
