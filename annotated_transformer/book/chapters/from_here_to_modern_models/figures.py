"""The drawings of the whole of chapter 22: a layer from 2017 until today, and the family of models."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from annotated_transformer.book.drawing.boxes import Box, draw_arrow, draw_line
from annotated_transformer.book.drawing.figures import new_canvas
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import DECODER, ENCODER, FIRST, INK, MUTED, NEUTRAL


class Change(NamedTuple):
    """One change: what it is called, when it was published, and which boxes of the layer it touches."""

    name: str
    year: str
    boxes: Mapping[str, str]  # from a box's place to its new words; "" takes it away


PLACES = ("positions", "norm 1", "attention", "add 1", "norm 2", "network", "add 2", "last norm", "logits")
BEGINNING = {
    "positions": "embedding + sinusoids", "norm 1": "", "attention": "attention, {0} k–v heads",
    "add 1": "add, LayerNorm", "norm 2": "", "network": "ReLU network, with biases",
    "add 2": "add, LayerNorm", "last norm": "", "logits": "linear, softmax",
}  # fmt: skip
CHANGES = (
    Change("the paper", "2017", {}),
    Change("pre-norm", "2019", {
        "norm 1": "LayerNorm", "add 1": "add", "norm 2": "LayerNorm", "add 2": "add",
        "last norm": "LayerNorm",
    }),
    Change("RMSNorm", "2019", dict.fromkeys(("norm 1", "norm 2", "last norm"), "RMSNorm")),
    Change("SwiGLU", "2020", {"network": "SwiGLU, with biases"}),
    Change("rotary positions", "2021", {
        "positions": "embedding", "attention": "rotary attention, {0} k–v",
    }),
    Change("no biases", "2022", {"network": "SwiGLU, no biases"}),
    Change("grouped queries", "2023", {"attention": "rotary attention, {1} k–v"}),
)  # fmt: skip


def boxes_after(count: int) -> dict[str, str]:
    """Return the words of each box after the first `count` changes, from the bottom up."""
    words = dict(BEGINNING)
    for change in CHANGES[: count + 1]:
        words |= change.boxes
    return {place: words[place] for place in PLACES if words[place]}


def draw_layer(count: int, heads: tuple[int, int] = (4, 2)) -> Figure:
    """Draw the paper's layer beside the same after `count` changes; what the last of them touched is lit.

    `heads` are the numbers of heads of keys and values before and after grouping.
    """
    fig, ax = new_canvas(64, 46, width=WIDE)
    now = CHANGES[count]
    _draw_tower(ax, 3.0, boxes_after(0), (), heads)
    _draw_tower(ax, 36.0, boxes_after(count), now.boxes, heads)
    ax.text(15.5, 44, "2017", ha="center", va="center", weight="bold")
    ax.text(48.5, 44, f"{now.year}: {now.name}", ha="center", va="center", weight="bold")
    return fig


def _draw_tower(
    ax: Axes,
    x: float,
    words: Mapping[str, str],
    lit: Sequence[str] | Mapping[str, str],
    heads: tuple[int, int],
) -> None:
    """Draw boxes one above the other, and the residual stream that goes around two of them."""
    spots = {place: Box(x, 1 + 4.6 * row, 25.0, 3.3) for row, place in enumerate(words)}
    for place, box in spots.items():
        edge, face = (FIRST, to_rgba(FIRST, 0.3)) if place in lit else (NEUTRAL, to_rgba(NEUTRAL, 0.15))
        ax.add_patch(Rectangle((box.x, box.y), box.width, box.height, facecolor=face, edgecolor=edge, lw=2))
        weight = "bold" if place in lit else "normal"
        ax.text(*box.center, words[place].format(*heads), ha="center", va="center", weight=weight)
    order = list(spots.values())
    for lower, upper in pairwise(order):
        draw_arrow(ax, lower.top, upper.bottom)
    for before, after in (("positions", "add 1"), ("add 1", "add 2")):
        low, high = spots[before].top[1] + 0.5, spots[after].left[1]
        draw_line(ax, (x + 12.5, low), (x - 1.8, low), (x - 1.8, high))
        draw_arrow(ax, (x - 1.8, high), (x, high))


BRANCHES = {"encoder only": ENCODER, "both halves": NEUTRAL, "decoder only": DECODER}
COLUMNS, LINE = (6.5, 19.0, 33.5, 47.5), 2.2  # of the tree: where its lines are, and from name to name


def draw_family(
    branches: Mapping[str, Sequence[tuple[str, int]]], ideas: Sequence[tuple[str, int]]
) -> Figure:
    """Draw the models of each branch down the years, each with its name, and the ideas beside them.

    `branches` and `ideas` give names and years, in order.
    """
    lanes = [*branches.values(), ideas]
    years = range(min(y for lane in lanes for _, y in lane), max(y for lane in lanes for _, y in lane) + 1)
    counts = {year: max(1, *(sum(y == year for _, y in lane) for lane in lanes)) for year in years}
    height = LINE * sum(counts.values()) + 0.8 * len(counts)
    fig, ax = new_canvas(64, height + 6.5, width=WIDE)
    ax.text(20.5, height + 5.3, "Transformer, 2017", ha="center", va="center", weight="bold")
    for name, x in zip((*branches, "ideas"), COLUMNS, strict=True):
        color = BRANCHES.get(name, FIRST)
        if name in branches:
            draw_line(ax, (20.5, height + 4.2), (x, height + 2.8), (x, 0.4), color=color)
        ax.text(x + 1, height + 1.4, name, ha="left", va="center", color=MUTED)
    top = height
    for year, count in counts.items():
        ax.plot([0, 64], [top, top], color=NEUTRAL, lw=1, ls="-", marker="", alpha=0.4, zorder=0)
        ax.text(0.2, top - 0.4 - LINE / 2, str(year), ha="left", va="center", color=MUTED)
        for lane, x, name in zip(lanes, COLUMNS, (*branches, "ideas"), strict=True):
            shown = [word for word, y in lane if y == year]
            for place, word in enumerate(shown):
                y = top - 0.4 - LINE * (place + 0.5)
                color = BRANCHES.get(name, FIRST)
                mark = "o" if name in branches else "D"
                ax.plot([x], [y], marker=mark, color=color, markersize=6, ls="")
                ax.text(x + 1, y, word, ha="left", va="center", color=INK)
        top -= LINE * count + 0.8
    return fig
