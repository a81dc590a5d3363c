"""The guide teaches what a reader can use: the code that its page shows needs no helper of the book."""

import ast
from pathlib import Path

import jupytext
import pytest

SOURCES = Path(__file__).parents[2] / "chapters" / "src"
GUIDE, OWN_PARTS = SOURCES / "train_and_translate.md", SOURCES / "own_parts.md"
HELPERS = "annotated_transformer.book"
NOT_SHOWN = {"remove-input", "remove-cell", "hide-cell"}  # folded code (hide-input) is shown on a click


def cells(source: str) -> list[tuple[bool, ast.Module]]:
    code = [cell for cell in jupytext.reads(source, fmt="md:myst").cells if cell.cell_type == "code"]
    return [(not NOT_SHOWN & set(cell.metadata.get("tags", [])), ast.parse(cell.source)) for cell in code]


def imported(tree: ast.Module) -> dict[str, str]:
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: node.module or "" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.asname or alias.name: alias.name for alias in node.names}
    return found


def complaints(source: str) -> list[str]:
    """Return what the shown code takes from the book, by import or from a cell that is not shown."""
    helpers: set[str] = set()
    wrong = []
    for shown, tree in cells(source):
        own = imported(tree)
        if not shown:
            helpers |= {name for name, module in own.items() if module.startswith(HELPERS)}
            continue
        wrong += [f"imports {module}" for module in own.values() if module.startswith(HELPERS)]
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        wrong += [f"uses {name}" for name in sorted(used & helpers - set(own))]
    return wrong


@pytest.mark.parametrize("guide", [GUIDE, OWN_PARTS])
def test_law_the_shown_code_needs_nothing_from_the_books_helpers(guide: Path):
    source = guide.read_text(encoding="utf-8")
    assert complaints(source) == []
    assert any(complaints(source.replace(f"[{tag}]", "[hide-input]")) for tag in NOT_SHOWN)
