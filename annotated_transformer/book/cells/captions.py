"""The words of a chapter's figures, from a file in its room, so that cells hold only what is drawn.

Chapter 3 has them in `captions_03.md`, the guide in `captions_G.md`:

    ## Figure 3.1. Title, without a period

    The alt text, which replaces the picture for a reader who cannot see it.

    The caption.

Both texts may contain `{name}` or `{name:.2f}` for values that the cell computes.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Formatter
from typing import NamedTuple, TypeVar

from matplotlib.figure import Figure

from annotated_transformer.book.cells.drag import DragQuery, DragScores, drag_output
from annotated_transformer.book.cells.output import CellOutput
from annotated_transformer.book.cells.slider import slider_output
from annotated_transformer.book.drawing.figures import figure_output

T = TypeVar("T")
ROOMS = Path(__file__).parent.parent / "chapters"


class Caption(NamedTuple):
    """The words of one figure; the texts may have places for values."""

    title: str
    alt: str
    caption: str


def show_figure(number: str, fig: Figure, **values: object) -> CellOutput:
    """Show `fig` as figure `number`, with the words that `captions` has for it.

    Raises:
        ValueError: There are no such words, their places are not those of `values`, or `figure_output`
            refuses the figure.
    """
    title, alt, caption = filled(number, values)
    return figure_output(fig, number=number, title=title, alt=alt, caption=caption)


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
    """Draw one of the `frames` at a time, behind a slider called `name`, as figure `number`.

    The alt text has places for the values that `each` returns for a frame, by default for the `{frame}`.

    Raises:
        ValueError: As in `show_figure`, or `slider_output` refuses the frames.
    """

    def words(frame: T) -> Caption:
        return filled(number, {**values, **(each(frame) if each else {"frame": frame})})

    title, _, caption = words(frames[0]) if frames else ("", "", "")
    return slider_output(
        draw,
        frames,
        name=name,
        number=number,
        title=title,
        alt=lambda frame: words(frame).alt,
        caption=caption,
        start=start,
    )


def show_drag(number: str, drag: DragQuery | DragScores, **values: object) -> CellOutput:
    """Show a figure in which the reader drags a query or scores as figure `number`.

    Raises:
        ValueError: As in `show_figure`.
    """
    title, alt, caption = filled(number, values)
    return drag_output(drag, number=number, title=title, alt=alt, caption=caption)


def filled(number: str, values: Mapping[str, object]) -> Caption:
    """Return a figure's words with the values in their places.

    Raises:
        ValueError: There are no such words, or their places are not those of `values`.
    """
    chapter = number.partition(".")[0]
    found = captions(chapter)
    if number not in found:
        raise ValueError(
            f"{file_name(chapter)} in the chapter's room has no words for figure {number}; "
            f"it has them for {', '.join(found) or 'none'}"
        )
    words = found[number]
    places = {name for text in words for _, name, _, _ in Formatter().parse(text) if name}
    if places != set(values):
        raise ValueError(
            f"the words of figure {number} have places for {', '.join(sorted(places)) or 'no value'}, and "
            f"the cell gives {', '.join(sorted(values)) or 'none'}"
        )
    return Caption(*(text.format(**values) for text in words))


def typed_words(chapter: str) -> list[str]:
    """Return what a chapter's captions say apart from the values."""
    texts = [text for words in captions(chapter).values() for text in words]
    return [typed for text in texts for typed, *_ in Formatter().parse(text)]


def file_name(chapter: str) -> str:
    """Return the name of a chapter's file: captions_03.md, or captions_G.md for the guide."""
    return f"captions_{chapter.zfill(2) if chapter.isdigit() else chapter}.md"


@cache
def captions(chapter: str) -> dict[str, Caption]:
    """Return the words of a chapter's figures by their numbers; none if it has no file."""
    found = ROOMS.glob(f"*/{file_name(chapter)}")  # without opening the others, on which no chapter depends
    return parse("".join(file.read_text("utf-8") for file in found))


def parse(text: str) -> dict[str, Caption]:
    """Read a file of captions.

    Raises:
        ValueError: A figure has other than two paragraphs, or its number occurs twice.
    """
    found: dict[str, Caption] = {}
    for part in re.split(r"^## Figure ", text, flags=re.MULTILINE)[1:]:
        heading, *paragraphs = re.split(r"\n\s*\n", part.strip())
        number, _, title = heading.partition(". ")
        if len(paragraphs) != 2 or number in found:
            raise ValueError(
                f"figure {number} has {len(paragraphs)} paragraphs or is there twice; write its alt text and "
                "its caption, one paragraph each"
            )
        found[number] = Caption(title, *(" ".join(paragraph.split()) for paragraph in paragraphs))
    return found
