"""A figure with a slider that works without a kernel, both in the book's page and in a notebook."""

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import TypeVar

from matplotlib.figure import Figure

from annotated_transformer.book.cells.output import CellOutput
from annotated_transformer.book.drawing.figures import (
    anchor,
    check_words,
    data_uri,
    digest,
    heading,
    image,
    map_mark,
    map_script,
    svg,
)

T = TypeVar("T")


def slider_output(
    draw: Callable[[T], Figure],
    values: Sequence[T],
    *,
    name: str,
    number: str,
    title: str,
    alt: Callable[[T], str],
    caption: str,
    start: T | None = None,
) -> CellOutput:
    """Return a page with one frame for each of `values` behind a slider called `name`, `start` first.

    A reader may have changed the values: if `start` is no longer among them, the nearest number is shown
    first. With one value, nothing moves.

    Without a script (a notebook that is not trusted yet, a printout) the start frame is an ordinary figure.
    `number`, `title`, `alt` and `caption` are those of `figure_output`.

    Raises:
        ValueError: There are no values, or a frame cannot be shown.
    """
    if len(values) == 0:
        raise ValueError("there are no values, and so there is no picture; give one or more")
    first = 0 if start is None else _place(start, values)
    alts = [alt(value) for value in values]
    for words in alts:
        check_words(number, title, words, caption)
    drawings = [svg(draw(value)) for value in values]
    frames = [
        {"value": str(value), "alt": words, "drawn": digest(drawing, words), "image": data_uri(drawing)}
        for value, words, drawing in zip(values, alts, drawings, strict=True)
    ]
    script = with_script("slider.js", "at-frames", {"name": name, "start": first, "frames": frames})
    html = (
        f'<figure class="at-figure at-slider" id="{anchor(number)}"{map_mark(drawings[first])}>'
        f"{heading(number, title)}"
        f'<div class="at-stage">{image(drawings[first], alts[first])}</div>'
        f"<figcaption>{escape(caption)}</figcaption>"
        f"{script}{map_script(drawings[first])}</figure>"
    )
    lines = [f"{name} {value}: {words}" for value, words in zip(values, alts, strict=True)]
    return CellOutput("\n\n".join([f"Figure {number}. {title}", *lines, caption]), html)


def with_script(name: str, label: str, data: Mapping[str, object]) -> str:
    """Return a script beside this module by its name, after its data, an element of class `label`."""
    text = json.dumps(data, ensure_ascii=False).replace("</", "<\\/")  # so that no word can end the element
    script = files(__package__).joinpath(name).read_text("utf-8")
    return f'<script type="application/json" class="{label}">{text}</script><script>\n{script}</script>'


def _place(start: T, values: Sequence[T]) -> int:
    """Return the index of a value, or of the nearest number if it is not there, or else 0."""
    if start in values:
        return values.index(start)
    if not all(isinstance(value, int | float) for value in (start, *values)):
        return 0
    return min(range(len(values)), key=lambda place: abs(values[place] - start))  # type: ignore[operator]
