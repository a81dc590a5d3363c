"""`explore` redraws with the same function as the slider figure."""

import ast
import sys
from pathlib import Path

import pytest

from annotated_transformer import book
from annotated_transformer.book.cells.explore import explore
from annotated_transformer.book.drawing.figures import new_canvas


def test_law_a_control_calls_the_drawing_function():
    drawn = []

    def draw(width, kind):
        drawn.append((width, kind))
        return new_canvas(float(width), 1.0)[0]

    widget = explore(draw, width=(2, 8), kind=["a", "b"])
    controls = {child.description: child for child in widget.children if hasattr(child, "description")}
    widget.update()
    controls["width"].value = 7
    controls["kind"].value = "b"
    assert drawn[-1] == (7, "b")
    assert repr(widget.result) == "width = 7, kind = b"
    assert 'alt="The figure for width = 7, kind = b"' in widget.result._repr_html_()


def test_law_the_book_imports_ipywidgets_only_when_a_control_is_made():
    for file in Path(book.__file__).parent.rglob("*.py"):
        found = [part for part in ast.parse(file.read_text("utf-8")).body if "Import" in type(part).__name__]
        assert "ipywidgets" not in " ".join(map(ast.unparse, found)), file


@pytest.mark.message
def test_message_without_ipywidgets(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    words = r"^a live cell needs ipywidgets, which is not installed; run pip install '\.\[notebooks\]'"
    with pytest.raises(ModuleNotFoundError, match=words):
        explore(lambda width: new_canvas(float(width), 1.0)[0], width=(2, 8))
