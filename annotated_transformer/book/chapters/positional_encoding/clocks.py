"""The clocks and waves of the chapter on positional encoding."""

import math
from collections.abc import Mapping, Sequence

from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Circle
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Point, draw_line
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import label_ends, write, write_beside
from annotated_transformer.plotting.palette import FIRST, INK, MUTED, NEUTRAL, SECOND


def draw_clocks(
    table: Float[Tensor, "positions d_model"], positions: Sequence[int], wavelengths: Sequence[float]
) -> Figure:
    """Draw each pair of features as a clock, a column for each position and a row for each pair."""
    pairs = table.size(1) // 2
    step, pitch, left = 1.42, 1.5, 4.15
    fig, ax = new_canvas(14.0, 1.3 + step * pairs)
    for row, wavelength in enumerate(wavelengths):
        y = step * (pairs - row) - 0.5
        write(ax, 0.1, y, f"1 turn in\n{wavelength:,.0f} words", "left")
        for column, values in enumerate(table.tolist()):
            _draw_dial(ax, (left + pitch * column, y), values[2 * row : 2 * row + 2])
    top = step * pairs + 0.55
    write(ax, 0.1, top, "position", "left", color=MUTED)
    for column, position in enumerate(positions):
        write(ax, left + pitch * column, top, f"{position}", weight="bold")
    return fig


def _draw_dial(
    ax: Axes, center: Point, hand: Sequence[float], *, color: str = FIRST, radius: float = 0.6
) -> None:
    """Draw a clock whose hand ends at (sine, cosine): at twelve for an angle of 0, then clockwise."""
    ax.add_patch(Circle(center, radius, fill=False, edgecolor=NEUTRAL, linewidth=1.2))
    _draw_hand(ax, center, hand, color=color, radius=radius)
    ax.plot(*center, color=INK, marker="o", markersize=3, linestyle="")


def _draw_hand(ax: Axes, center: Point, hand: Sequence[float], *, color: str, radius: float) -> None:
    sine, cosine = hand
    tip = center[0] + radius * sine, center[1] + radius * cosine
    ax.plot([center[0], tip[0]], [center[1], tip[1]], color=color, lw=2.4, linestyle="-", marker="")


def draw_wave(pair: Float[Tensor, "positions 2"], *, wavelength: float) -> Figure:
    """Draw the two features of a pair over the positions, and print how many words a turn takes."""
    fig, ax = new_figure(height=2.7)
    for column, (name, color, style) in enumerate((("sine", FIRST, "-"), ("cosine", SECOND, "--"))):
        ax.plot(range(len(pair)), pair[:, column], color=color, linestyle=style, marker="", label=name)
    ax.set(xlabel="position", ylabel="value", ylim=(-1.1, 1.1), xlim=(0, len(pair) - 1))
    ax.set_yticks([-1, 0, 1], ["−1", "0", "1"])
    ax.set_title(f"1 turn in {wavelength:,.1f} words", loc="left", weight="normal")
    label_ends(ax)
    return fig


def draw_turn(
    starts: Mapping[int, Float[Tensor, "pairs 2"]],
    angles: Sequence[float],
    products: Float[Tensor, " offsets"],
    *,
    offset: int,
) -> Figure:
    """Draw several positions turned by the same offset, and the dot product that belongs to it.

    `starts` has the pairs of each position, and `angles` how far each pair turns.
    """
    fig, (ax, curve) = new_figure(2, 1, height=5.4)
    columns, step = len(angles), 2.2
    ax.set(xlim=(-2.9, step * columns - 0.9), ylim=(-step * len(starts) + 1.0, 1.5), aspect="equal")
    ax.set_axis_off()
    for column, angle in enumerate(angles):
        write(ax, step * column, 1.3, f"{math.degrees(angle):,.0f}°", weight="bold")
    write(ax, -2.8, 1.3, "turns by", "left", color=MUTED)
    for row, (position, pairs) in enumerate(starts.items()):
        y = -step * row
        write(ax, -2.8, y, f"{position} to {position + offset}", "left")
        for column, (hand, angle) in enumerate(zip(pairs.tolist(), angles, strict=True)):
            center = step * column, y
            _draw_dial(ax, center, hand, color=NEUTRAL, radius=0.9)
            begin = math.atan2(hand[0], hand[1])
            turned = math.sin(begin + angle), math.cos(begin + angle)
            _draw_hand(ax, center, turned, color=FIRST, radius=0.9)
            sweep = min(angle, 2 * math.pi)
            if sweep > 0:
                ends = [90 - math.degrees(begin + sweep), 90 - math.degrees(begin)]
                arc = Arc(center, 1.0, 1.0, theta1=ends[0], theta2=ends[1], color=SECOND, linewidth=2)
                ax.add_patch(arc)
    curve.plot(range(len(products)), products, color=NEUTRAL, linestyle="-", marker="")
    curve.plot([offset], [products[offset]], color=FIRST, linestyle="", marker="o", markersize=9)
    write_beside(curve, (offset, products[offset]), (8, 6), f"{products[offset]:.1f}", weight="bold")
    curve.set(xlabel="offset", ylabel="dot product", ylim=(0, 1.2 * float(products.max())))
    return fig


def draw_unrolled(pair: Float[Tensor, "positions 2"], *, shown: int) -> Figure:
    """Draw one clock at several positions, its cosine to the right of it and its sine below it.

    The hand of position `shown` is joined to its cosine and its sine by dotted lines.
    """
    fig, ax = new_canvas(14.0, 10.6)
    (x, y), radius, end, fine = (2.9, 7.8), 1.9, len(pair) - 1, 12
    turn = math.atan2(*pair[1].tolist())  # radians from one position to the next
    wave = [turn * place / fine for place in range(end * fine + 1)]
    across = [6.5 + 6.9 * place / (end * fine) for place in range(len(wave))]
    down = [4.6 - 4.3 * place / (end * fine) for place in range(len(wave))]
    ax.add_patch(Circle((x, y), radius, fill=False, edgecolor=NEUTRAL, linewidth=1.2))
    draw_line(ax, (6.2, y), (13.7, y), color=NEUTRAL)
    draw_line(ax, (x, 4.9), (x, 0.1), color=NEUTRAL)
    ax.plot(across, [y + radius * math.cos(a) for a in wave], color=FIRST, ls="-", marker="")
    ax.plot([x + radius * math.sin(a) for a in wave], down, color=SECOND, ls="--", marker="")
    for place, (sine, cosine) in enumerate(pair.tolist()):
        tip, right, below = (x + radius * sine, y + radius * cosine), across[place * fine], down[place * fine]
        for spot, color, mark in (
            (tip, NEUTRAL, "o"), ((right, tip[1]), FIRST, "o"), ((tip[0], below), SECOND, "s"),
        ):  # fmt: skip
            ax.plot(*spot, color=color, ls="", marker=mark, markersize=6)
            if place == shown:
                ax.plot(*zip(tip, spot, strict=True), color=MUTED, lw=1.2, ls=":", marker="", zorder=1)
        weight = "bold" if place == shown else "normal"
        outside = x + 1.22 * radius * sine, y + 1.22 * radius * cosine
        write(ax, *outside, f"{place}", weight=weight)
        if place == shown:
            _draw_hand(ax, (x, y), (sine, cosine), color=INK, radius=radius)
            write(ax, right + 0.35, tip[1] + 0.1, f"{cosine:.2f}", "left", "bottom", weight="bold")
            write(ax, tip[0] + 0.35, below, f"{sine:.2f}", "left", weight="bold")
    write(ax, 9.95, y + radius + 0.2, "cosine: height of the tip", height="bottom")
    write(ax, x + radius + 0.7, 2.2, "sine: how far the tip\nis to the right", "left")
    write(ax, 13.7, y - radius - 0.2, "position →", "right", "top", color=MUTED)
    write(ax, x + radius + 0.7, 0.45, "position ↓", "left", color=MUTED)
    return fig
