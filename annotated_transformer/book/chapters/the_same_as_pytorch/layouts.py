"""The drawings of weights and masks: how the same numbers are stored, and all masks of a size."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from annotated_transformer.book.drawing.boxes import Box, draw_area, draw_arrow
from annotated_transformer.book.drawing.figures import new_canvas
from annotated_transformer.book.drawing.words import Words, write
from annotated_transformer.plotting.palette import FIRST, INK, KEY, MUTED, QUERY, SECOND, VALUE


def draw_fused(name: str, shape: Sequence[int], parts: Mapping[str, Sequence[int]]) -> Figure:
    """Draw a fused matrix, whose blocks become three matrices with names of their own."""
    fig, ax = new_canvas(46, 23)
    blocks = list(zip(parts.items(), (QUERY, KEY, VALUE), ("//", "\\\\", ".."), strict=True))
    for place, ((part, size), color, hatch) in enumerate(blocks):
        y = 14.2 - 5 * place
        draw_area(ax, (1, y), 8, 5, color, 0.25, lw=2, hatch=hatch)
        other = Box(18, 15.4 - 6.6 * place, 8, 5)
        draw_area(ax, other[:2], 8, 5, color, 0.25, lw=2, hatch=hatch)
        draw_arrow(ax, (9.3, y + 2.5), (other.x - 0.4, other.y + 2.5))
        write(ax, 27.3, other.y + 3.3, part, "left", weight="bold")
        write(ax, 27.3, other.y + 1.2, _shape(size), "left", color=MUTED)
    write(ax, 1, 21.6, f"{name}, {_shape(shape)}", "left", weight="bold")
    return fig


def _shape(size: Sequence[int]) -> str:
    return " × ".join(map(str, size))


def draw_layouts(rows: Mapping[str, tuple[Words, Words]], *, names: tuple[str, str]) -> Figure:
    """Draw pairs of rows of cells, the same features in two orders, one shade for each kind."""
    fig, ax = new_canvas(46, 9.5 * len(rows) + 1)
    for place, (title, orders) in enumerate(rows.items()):
        top = 9.5 * (len(rows) - place)
        write(ax, 0.5, top - 0.4, title, "left", weight="bold")
        kinds = list(dict.fromkeys(orders[0]))
        for row, (order, name) in enumerate(zip(orders, names, strict=True)):
            y = top - 4.6 - 3.4 * row
            write(ax, 0.5, y + 1.3, name, "left", color=MUTED)
            for column, word in enumerate(order):
                color = (FIRST, SECOND)[kinds.index(word) % 2]
                corner = 14 + 3.9 * column, y
                draw_area(ax, corner, 3.6, 2.6, color, 0.3, lw=1.5)
                write(ax, corner[0] + 1.8, y + 1.3, word, color=INK)
    return fig
