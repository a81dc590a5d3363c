"""The drawings of what flows through a model: weighted values, words over depth, patches, and copies."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from annotated_transformer.book.drawing.boxes import Point, draw_area, draw_arrow, draw_box, draw_line
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import Words, write
from annotated_transformer.plotting.attention_map import SHADE, heat
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    FIRST,
    HEAT_INK_HIGH,
    HEAT_INK_LOW,
    HEAT_SWITCH,
    INK,
    MASKED,
    MUTED,
    NEUTRAL,
    SECOND,
    VALUE,
)

PITCH, TALL = 4.2, 2.2  # of the rows of vectors in two runs, and how tall a vector is


def draw_areas(weights: Sequence[float], values: Sequence[float]) -> Figure:
    """Draw each token as a box as wide as its weight and as high as its value; the area is what it adds."""
    fig, ax = new_figure(height=2.8)
    start = 0.0
    for weight, value in zip(weights, values, strict=True):
        draw_area(ax, (start, 0), weight, value, VALUE, 0.4, lw=2.5)
        above = value >= 0
        y, va = (value + 0.15, "bottom") if above else (value - 0.15, "top")
        product = f"{weight:g} × {value:g}\n= {weight * value:g}".replace("-", "−")
        write(ax, start + weight / 2, y, product, height=va)
        start += weight
    ax.axhline(0, color=INK, lw=1, ls="-", marker="")
    ax.set(xlim=(0, 1), ylim=(min(values) - 1.8, max(values) + 1.8), ylabel="value", xlabel="weight")
    return fig


def draw_lens_words(inputs: Words, words: Sequence[Words], shares: Sequence[Sequence[float]]) -> Figure:
    """Draw the likeliest word at each position and depth, the lowest at the bottom, darker if likelier."""
    wide = 55.5 / len(inputs)
    fig, ax = new_canvas(64, 3.4 * len(words) + 6.5, width=WIDE)
    for depth, (row, given) in enumerate(zip(words, shares, strict=True)):
        y = 3.4 * depth + 3.2
        write(ax, 0.3, y + 1.7, f"depth {depth}", "left", color=MUTED)
        for place, (word, exact) in enumerate(zip(row, given, strict=True)):
            share = round(exact, 2)
            cell = Rectangle(
                (8 + wide * place, y), wide, 3.4, facecolor=heat(share), edgecolor=MASKED, lw=0.5
            )
            cell.set_gid(f"{SHADE}|{share}")
            ax.add_patch(cell)
            ink = HEAT_INK_HIGH if share > HEAT_SWITCH else HEAT_INK_LOW
            write(ax, 8 + wide * (place + 0.5), y + 1.7, word[:7], color=ink)
    for place, word in enumerate(inputs):
        write(ax, 8 + wide * (place + 0.5), 1.5, word[:7], weight="bold")
    write(ax, 0.3, 1.5, "input", "left", weight="bold")
    write(ax, 8, 3.4 * len(words) + 4.8, "the model's next word is the top row", "left", color=MUTED)
    return fig


def draw_streams(clean: Words, corrupted: Words, *, depths: int, depth: int, token: int) -> Figure:
    """Draw the vectors of two runs, one column for each token, and one vector that is put into the other.

    What the second run computes again is outlined only. The arrow runs between two rows.
    """
    wide = 26.0 / len(clean)
    fig, ax = new_canvas(64, PITCH * depths + 6.0, width=WIDE)
    bold = [one != other for one, other in zip(clean, corrupted, strict=True)]
    lefts, top, y = (7.6, 37.8), PITCH * depths + 4.4, PITCH * depth + 2.8 + TALL
    for left, names in zip(lefts, (clean, corrupted), strict=True):
        for place, name in enumerate(names):
            x = left + wide * place
            weight = "bold" if bold[place] else "normal"
            write(ax, x + wide / 2, 1.2, name, weight=weight)
            for level in range(depths):
                second = left == lefts[1]
                put = second and (level, place) == (depth, token)
                spot = x + 0.1 * wide, PITCH * level + 2.8
                _draw_cell(
                    ax, spot, 0.8 * wide, first=put or not second, put=put, again=second and level > depth
                )
    above = y + (PITCH - TALL) / 2
    start, end = (left + wide * (token + 0.5) for left in lefts)
    draw_line(ax, (start, y), (start, above), (end, above))
    ax.lines[-1].set_linewidth(2.5)
    draw_arrow(ax, (end, above), (end, y))
    for left, name in zip(lefts, ("run 1", "run 2"), strict=True):
        write(ax, left, top, name, "left", weight="bold")
    if depth + 1 < depths:
        write(ax, lefts[1] + 6, top, "dashed: recomputed", "left", color=MUTED)
    for level in range(depths):
        write(ax, 0.3, PITCH * level + 2.8 + TALL / 2, f"depth {level}", "left", color=MUTED)
    return fig


def _draw_cell(ax: Axes, spot: Point, width: float, *, first: bool, put: bool, again: bool) -> None:
    """Draw a vector of a run, hatched if it is of the second, outlined if it is computed again."""
    color = FIRST if first else SECOND
    cell = Rectangle(
        spot, width, TALL, facecolor=to_rgba(color, 0.45) if first else "none", edgecolor=color,
        hatch="" if first or again else "///", lw=2.5 if put else 1.2, ls="--" if again else "-",
    )  # fmt: skip
    ax.add_patch(cell)


def draw_induction(symbols: Words, copy: int) -> Figure:
    """Draw how two layers continue a repetition: the last symbol has an earlier copy at place `copy`."""
    wide, left, size = 37.5 / len(symbols), 9.3, 3.4
    fig, ax = new_canvas(47, 25.5)
    last = len(symbols) - 1
    middles = [left + wide * (place + 0.5) for place in range(len(symbols))]
    for y, name in ((1.0, "input"), (10.5, "layer 1"), (20.0, "layer 2")):
        write(ax, 0.2, y + size / 2, name, "left", color=MUTED)
    for place, name in enumerate(symbols):
        lit = FIRST if place == copy + 1 else NEUTRAL
        draw_box(ax, middles[place] - 0.46 * wide, 1.0, 0.92 * wide, size, name)
        text = f"{name}\nafter {symbols[place - 1]}" if place else name
        draw_box(ax, middles[place] - 0.46 * wide, 10.5, 0.92 * wide, 1.5 * size, text, color=lit)
        draw_line(ax, (middles[place], 1.0 + size), (middles[place], 10.5), color=NEUTRAL)
        if place:
            color = FIRST if place == copy + 1 else NEUTRAL
            start, end = middles[place - 1] + 0.15 * wide, middles[place] - 0.15 * wide
            draw_arrow(ax, (start, 1.0 + size), (end, 10.5), color=color)
    answer = draw_box(
        ax, middles[last] - 0.46 * wide, 20.0, 0.92 * wide, size, symbols[copy + 1], color=SECOND
    )
    draw_arrow(ax, (middles[copy + 1], 10.5 + 1.5 * size), answer.left, color=SECOND)
    draw_line(ax, (middles[last], 10.5 + 1.5 * size), answer.bottom, color=NEUTRAL)
    write(ax, left, 20.0 + size / 2, f"{symbols[last]} looks for “after {symbols[copy]}”", "left")
    return fig
