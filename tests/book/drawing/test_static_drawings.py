"""Drawings that take no numbers are legible; nbval compares their words with those of the notebooks."""

import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from annotated_transformer.book import chapters
from tests.drawings import texts

ROOMS = Path(chapters.__path__[0])
MODULES = [
    import_module(".".join((chapters.__name__, *path.relative_to(ROOMS).with_suffix("").parts)))
    for path in sorted(ROOMS.glob("*/*.py"))
    if "\ndef draw_" in path.read_text("utf-8")
]
STATIC = [
    draw
    for module in MODULES
    for name, draw in vars(module).items()
    if name.startswith("draw_")
    and draw.__module__ == module.__name__
    and not inspect.signature(draw).parameters
]


@pytest.mark.parametrize("draw", STATIC, ids=lambda draw: f"{draw.__module__.split('.')[-2]}.{draw.__name__}")
def test_law_a_drawing_without_numbers_is_legible(draw: Callable[[], Figure]):
    assert texts(draw())
