"""What activation functions do, drawn on the line, in the plane and on a cube."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import torch
from matplotlib.figure import Figure
from torch import Tensor

from annotated_transformer.book.drawing.boxes import draw_arrow, draw_line
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import write, write_beside
from annotated_transformer.plotting.palette import FIRST, INK, MUTED, NEUTRAL, SECOND

LOOKS = (FIRST, "-", "o"), (SECOND, "--", "s")


def draw_activations(functions: Mapping[str, Callable[[Tensor], Tensor]]) -> Figure:
    """Draw activation functions from −3 to 3, each with its name."""
    fig, ax = new_figure(height=2.7)
    x = torch.linspace(-3, 3, 61)
    places = (46, (-10, 6), "right"), (40, (14, -10), "left")
    for (name, function), (color, style, _), (place, offset, side) in zip(
        functions.items(), LOOKS, places, strict=True
    ):
        y = function(x)
        ax.plot(x, y, color=color, ls=style, marker="")
        spot = x[place].item(), y[place].item()
        write_beside(ax, spot, offset, name, side, "center")
    ax.axhline(0, color=NEUTRAL, lw=1, ls="-", marker="", zorder=1)
    ax.axvline(0, color=NEUTRAL, lw=1, ls="-", marker="", zorder=1)
    ax.set(xlabel="before", ylabel="after", yticks=[0, 1, 2, 3])
    ax.set_xticks([-3, -2, -1, 0, 1, 2, 3], ["−3", "−2", "−1", "0", "1", "2", "3"])
    return fig


def draw_fold(
    before: Mapping[str, Sequence[float | int]], positive: Mapping[str, bool], *, level: float
) -> Figure:
    """Draw two hidden units of several words before ReLU and after it, and where their sum is `level`."""
    fig, ax = new_figure(height=3.9)
    for name, (x, y) in before.items():
        color, _, mark = LOOKS[not positive[name]]
        folded = max(0.0, x), max(0.0, y)
        ax.plot(x, y, color=color, marker=mark, ls="", markersize=10, markerfacecolor="none", zorder=3)
        ax.plot(*folded, color=color, marker=mark, ls="", markersize=10, zorder=3)
        if folded != (x, y):
            draw_arrow(ax, (x, y), folded, color=MUTED)
    spots: dict[tuple[float, float], list[str]] = {}
    for name, (x, y) in before.items():
        spots.setdefault((x, y), []).append(name)
    for spot, names in spots.items():
        side = "right" if len(names) > 1 else "center"
        write_beside(ax, spot, (0, -10), ", ".join(names), side, "top")
    write(ax, 2.2, 2.1, "verdict 1", "right", "top", color=MUTED)
    write(ax, -0.25, -2.7, "verdict −1", "right", "top", color=MUTED)
    ax.axhline(0, color=NEUTRAL, lw=1, ls="-", marker="", zorder=1)
    ax.axvline(0, color=NEUTRAL, lw=1, ls="-", marker="", zorder=1)
    ax.plot([level - 2, level + 2], [2, -2], color=INK, lw=1.5, ls=":", marker="", zorder=2)
    ax.set(aspect="equal", xlabel="unit 1", ylabel="unit 2", xlim=(-4.1, 2.3), ylim=(-4.1, 2.2))
    ticks = range(-4, 3, 2)
    for set_ticks in (ax.set_xticks, ax.set_yticks):
        set_ticks(ticks, [f"{tick}".replace("-", "−") for tick in ticks])
    return fig


def draw_corners(letters: Mapping[tuple[int, ...], str]) -> Figure:
    """Draw the label of each combination of two and of three features, on a square and on a cube.

    `letters` names corners of the cube.
    """
    fig, ax = new_canvas(14.0, 6.9)
    write(ax, 2.9, 6.5, "two features", weight="bold")
    write(ax, 10.2, 6.5, "three features", weight="bold")
    for count, (left, bottom) in ((2, (1.2, 1.4)), (3, (7.6, 0.7))):
        corners = list(product((-1, 1), repeat=count))
        spots = {}
        for corner in corners:
            back = 0.85 * (corner[2] + 1) if count == 3 else 0.0
            spots[corner] = left + 1.7 * (corner[0] + 1) + back, bottom + 1.7 * (corner[1] + 1) + 0.8 * back
        for a, b in product(corners, corners):
            if a < b and sum(p != q for p, q in zip(a, b, strict=True)) == 1:
                draw_line(ax, spots[a], spots[b], color=NEUTRAL)
        for corner, spot in spots.items():
            sign = torch.tensor(corner).prod().item()
            color, _, mark = LOOKS[sign < 0]
            ax.plot(*spot, color=color, marker=mark, ls="", markersize=15, zorder=3)
            name = letters.get(corner, "") if count == 3 else ""
            write(ax, spot[0] + 0.62, spot[1] - 0.15, name, style="italic")
    return fig
