"""The plots of what the chapter on multi-head attention measures."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Point, draw_area, draw_line
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import Curves, Words, write
from annotated_transformer.plotting.attention_map import draw_attention
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    FIRST,
    INK,
    MUTED,
    PAPER,
    SECOND,
)


def draw_errors(errors: Curves, heads: Mapping[str, Sequence[Sequence[int]]]) -> Figure:
    """Draw the errors of trained layers: for each kind a sketch, and a mark for each seed.

    `heads` gives the widths of the heads of each layer.
    """
    fig, ax = new_canvas(19.5, 1.7 * len(errors) + 3.0, width=WIDE)
    left, right, low, high = 9.2, 16.0, 1.7, 1.7 * len(errors) + 1.7
    half = (left + right) / 2
    ax.add_patch(Rectangle((left, low), half - left, high - low, facecolor=to_rgba(FIRST, 0.12), lw=0))
    draw_line(ax, (left, low), (right, low))
    ax.plot([half, half], [low, high], color=INK, lw=1.5, ls=":", marker="")
    note = "out of reach\nfor one head\nin one layer"
    write(ax, (left + half) / 2 - 0.2, high - 1.7, note, color=MUTED)
    for x, label in ((left, "0"), (half, "½"), (right, "1")):
        write(ax, x, low - 0.25, label, height="top")
    write(ax, half, 0.35, "share of the variance lost")
    for row, (name, values) in enumerate(errors.items()):
        y = high - 1.7 * (row + 0.5)
        write(ax, 0.2, y, name, "left")
        _draw_layers(ax, (6.9, y), heads[name])
        shown = [round(value, 2) for value in values]
        color, mark = (FIRST, "o") if max(shown) < 0.45 else (SECOND, "s")
        step = 0.9 / max(2, len(shown) - 1)
        heights = [y + step * place - step * (len(shown) - 1) / 2 for place in range(len(shown))]
        places = [left + (right - left) * value for value in shown]
        ax.plot(places, heights, color=color, marker=mark, ls="", markersize=7)
        said = " to ".join(f"{end:.2f}" for end in sorted({min(shown), max(shown)}))
        write(ax, max(places) + 0.4, y, said, "left")
    return fig


def _draw_layers(ax: Axes, spot: Point, layers: Sequence[Sequence[int]]) -> None:
    """Draw layers one above another, each head as wide as it is, with the line that passes each layer by."""
    x, y = spot
    unit, gap, pitch = 3.0 / 128, 0.15, 0.72
    bottom = y - pitch * len(layers) / 2
    draw_line(ax, (x, bottom - 0.08), (x, y + pitch * len(layers) / 2 + 0.08))
    for number, widths in enumerate(layers):
        start, low = x - (sum(widths) * unit + gap * (len(widths) - 1)) / 2, bottom + pitch * number
        side = x - 1.8
        draw_line(ax, (x, low + 0.04), (side, low + 0.04), (side, low + 0.68), (x, low + 0.68))
        for width in widths:
            ax.add_patch(Rectangle((start, low + 0.16), width * unit, 0.4, facecolor=PAPER, lw=0, zorder=2))
            draw_area(ax, (start, low + 0.16), width * unit, 0.4, FIRST, 0.45, zorder=3)
            start += width * unit + gap


def draw_learned(weights: Float[Tensor, "rows items"], *, rows: Words, lines: Sequence[int]) -> Figure:
    """Draw the learned weights on the items when the query names items 2 and 5, with lines between models."""
    fig, ax = new_figure(height=3.9)
    draw_attention(ax, weights, rows, [str(item + 1) for item in range(weights.size(1))])
    ax.set(xlabel="items; the query names 2 and 5", ylabel="")
    for line in lines:
        ax.axhline(line, color=INK, lw=3, marker="", linestyle="-")
    return fig
