"""The guide teaches what a reader can use: the code that its page shows needs no helper of the book."""

from pathlib import Path

import pytest

from annotated_transformer.book.exercises.needs import names_of
from builder.source import parsed

SOURCES = Path(__file__).parents[2] / "chapters" / "src"
HELPERS = "annotated_transformer.book"
NOT_SHOWN = {"remove-input", "remove-cell", "hide-cell"}  # folded code (hide-input) is shown on a click


@pytest.mark.parametrize("guide", ["train_and_translate.md", "own_parts.md"])
def test_law_the_shown_code_needs_nothing_from_the_books_helpers(guide: str):
    cells = [cell for cell in parsed((SOURCES / guide).read_text("utf-8")).cells if cell.cell_type == "code"]
    names = [names_of(cell.source) for cell in cells]
    imported = {pair for each in names for pair in each.imported}
    helpers = {name for name, module in imported if module.startswith(HELPERS)}
    assert helpers
    for cell, used in zip(cells, names, strict=True):
        if not NOT_SHOWN & {*cell.metadata.get("tags", [])}:
            assert helpers.isdisjoint(used.read | used.later | used.stored), cell.source
