"""A figure with a slider that works without a kernel, both in the book's page and in a notebook."""

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import TypeVar

from matplotlib.figure import Figure

from annotated_transformer.book.drawing.captions import digest
from annotated_transformer.book.drawing.figures import (
    data_uri,
    image,
    map_mark,
    map_script,
    numbered,
    placeholder_alt,
    svg,
)
from annotated_transformer.book.output import CellOutput

T = TypeVar("T")


def show_slider(
    number: str,
    draw: Callable[[T], Figure],
    frames: Sequence[T],
    *,
    name: str,
    start: T | None = None,
    each: Callable[[T], Mapping[str, object]] | None = None,
    **values: object,
) -> CellOutput:
    """Show one of the `frames` at a time, `start` first, behind a slider called `name`, as figure `number`.

    The words of the figure have places for the `values`, and for those that `each` returns for a frame, by
    default the `{frame}`.

    A reader may have changed the frames: if `start` is no longer among them, the nearest number is shown
    first. With one frame, nothing moves. Without a script (a notebook that is not trusted yet, a printout)
    the start frame is an ordinary figure.

    Raises:
        ValueError: There are no frames, or one cannot be shown.
    """
    if len(frames) == 0:
        raise ValueError("there are no values, and so there is no picture; give one or more")
    first = 0 if start is None else _place(start, frames)
    alt = placeholder_alt(number)
    drawings = [svg(draw(frame)) for frame in frames]
    pictures = [
        {"value": str(frame), "alt": alt, "drawn": digest(drawing), "image": data_uri(drawing)}
        for frame, drawing in zip(frames, drawings, strict=True)
    ]
    script = with_script("slider.js", "at-frames", {"name": name, "start": first, "frames": pictures})
    return numbered(
        number,
        f'<div class="at-stage">{image(drawings[first], alt)}</div>',
        [(f"{name} {frame}", {**values, **(each(frame) if each else {"frame": frame})}) for frame in frames],
        start=first,
        kind=" at-slider",
        mark=map_mark(drawings[first]),
        script=script + map_script(drawings[first]),
    )


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
