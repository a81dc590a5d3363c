"""Words in a row, vectors without digits, and names beside the rows and at the ends of lines."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from annotated_transformer.book.drawing.boxes import Box, Point, draw_box
from annotated_transformer.plotting.palette import INK

Words = Sequence[str]
Curves = Mapping[str, Sequence[float]]  # by their names
LINE = 15.0  # points from one line of text to the next


def write(
    ax: Axes, x: float, y: float, text: str, side: str = "center", height: str = "center", **look: Any
) -> None:
    """Write a text at (x, y): `side` and `height` say which part of it is there, such as "left", "top"."""
    ax.text(x, y, text, ha=side, va=height, **look)


def write_beside(
    ax: Axes, spot: Sequence[Any], offset: Point, text: str,
    side: str = "left", height: str = "baseline", **look: Any,
) -> None:  # fmt: skip
    """Write a text as many points to the right of a spot of a chart, and up, as `offset` says."""
    ax.annotate(text, (spot[0], spot[1]), offset, textcoords="offset points", ha=side, va=height, **look)


def draw_tokens(
    ax: Axes, x: float, y: float, words: Words, *, width: float, gap: float, height: float = 0.9
) -> list[Box]:
    """Draw words in boxes of one size, from the corner (x, y) to the right, and return the boxes."""
    places = [x + place * (width + gap) for place in range(len(words))]
    return [draw_box(ax, at, y, width, height, word) for at, word in zip(places, words, strict=True)]


def draw_vector(
    ax: Axes, x: float, y: float, shares: Sequence[float], *, color: str, size: Point, upright: bool = True
) -> Box:
    """Draw a vector as cells from its lower left corner (x, y): the larger a share of 1, the darker.

    An upright vector has its first feature on top.

    Raises:
        ValueError: A share is not between 0 and 1.
    """
    width, height = size
    count = len(shares)
    box = Box(x, y, width, count * height) if upright else Box(x, y, count * width, height)
    for place, share in enumerate(shares):
        if not 0 <= share <= 1:
            raise ValueError(f"share {place} is {share}; a cell is shaded by a share between 0 and 1")
        corner = (x, y + (count - 1 - place) * height) if upright else (x + place * width, y)
        face = to_rgba(color, 0.1 + 0.8 * share)
        ax.add_patch(Rectangle(corner, width, height, facecolor=face, edgecolor=color, lw=1))
    return box


def name_rows(ax: Axes, names: Collection[str], *, shown: bool = True) -> None:
    """Write a name beside each row of a chart, at the heights 0, 1, 2, and so on, without tick marks.

    In a panel beside one that has the same rows, the names need not be `shown`.
    """
    ax.set_yticks(range(len(names)), list(names) if shown else [])
    ax.tick_params(axis="y", length=0)


def label_ends(ax: Axes, *, gap: float | int = 6) -> None:
    """Write the label of each line at its right end, `gap` points away, instead of a legend.

    Labels that would overlap move up and down just far enough. To be called when the limits of the axes are
    final.
    """
    named = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    data = [(np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in named]
    ends = [(float(across[-1]), float(up[-1])) for across, up in data]
    points = 72 / ax.figure.dpi
    heights = [float(ax.transData.transform(end)[1]) * points for end in ends]
    for line, end, height, moved in zip(named, ends, heights, space_out(heights, LINE), strict=True):
        ax.annotate(
            str(line.get_label()), end, (gap, moved - height), textcoords="offset points", ha="left",
            va="center", color=INK, annotation_clip=False,
        )  # fmt: skip


def space_out(places: Sequence[float], least: float) -> list[float]:
    """Return places in the same order that are at least `least` apart, each group around its own middle."""
    groups: list[list[int]] = []
    order = sorted(range(len(places)), key=lambda number: places[number])

    def middle(group: list[int]) -> float:
        return sum(places[number] for number in group) / len(group)

    for number in order:
        groups.append([number])
        while len(groups) > 1:
            lower, upper = groups[-2], groups[-1]
            if middle(upper) - middle(lower) >= least * (len(lower) + len(upper)) / 2:
                break
            groups[-2:] = [lower + upper]
    moved = list(places)
    for group in groups:
        for rank, number in enumerate(group):
            moved[number] = middle(group) + least * (rank - (len(group) - 1) / 2)
    return moved
