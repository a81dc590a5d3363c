"""The drawings of the whole of chapter 22: a layer from 2017 until today, and the family of models."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from annotated_transformer.book.drawing.boxes import Box, draw_area, draw_arrow, draw_line
from annotated_transformer.book.drawing.figures import new_canvas
from annotated_transformer.book.drawing.words import write
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import DECODER, ENCODER, FIRST, INK, MUTED, NEUTRAL, PAPER


class Change(NamedTuple):
    """One change: what it is called, when it was published, and which boxes of the layer it touches."""

    name: str
    year: str
    boxes: Mapping[str, str]  # from a box's place to its new words; "" takes it away


PLACES = ("positions", "norm 1", "attention", "add 1", "norm 2", "network", "add 2", "last norm")
BEGINNING = {
    "positions": "embedding\n+ sinusoids", "norm 1": "", "attention": "attention,\n{0} k–v heads",
    "add 1": "add,\nLayerNorm", "norm 2": "", "network": "ReLU\nnetwork,\nbiases",
    "add 2": "add,\nLayerNorm", "last norm": "",
}  # fmt: skip
CHANGES = (
    Change("the paper", "2017", {}),
    Change("pre-norm", "2019", {
        "norm 1": "LayerNorm", "add 1": "add", "norm 2": "LayerNorm", "add 2": "add",
        "last norm": "LayerNorm",
    }),
    Change("RMSNorm", "2019", dict.fromkeys(("norm 1", "norm 2", "last norm"), "RMSNorm")),
    Change("SwiGLU", "2020", {"network": "SwiGLU,\nbiases"}),
    Change("rotary positions", "2021", {
        "positions": "embedding", "attention": "rotary\nattention,\n{0} k–v heads",
    }),
    Change("no biases", "2022", {"network": "SwiGLU,\nno biases"}),
    Change("grouped queries", "2023", {"attention": "rotary\nattention,\n{1} k–v heads"}),
)  # fmt: skip


def boxes_after(count: int) -> dict[str, str]:
    """Return the words of each box after the first `count` changes, from the bottom up."""
    words = dict(BEGINNING)
    for change in CHANGES[: count + 1]:
        words |= change.boxes
    return {place: words[place] for place in PLACES if words[place]}


def draw_layer(count: int, heads: tuple[int, int] = (4, 2)) -> Figure:
    """Draw the paper's layer above the same after `count` changes; what the last of them touched is lit.

    `heads` are the numbers of heads of keys and values before and after grouping.
    """
    fig, ax = new_canvas(64, 35, width=WIDE)
    now = CHANGES[count]
    _draw_row(ax, 18.7, boxes_after(0), (), heads)
    _draw_row(ax, 1.0, boxes_after(count), now.boxes, heads)
    for y, change in ((33.0, CHANGES[0]), (15.3, now)):
        write(ax, 0.5, y, f"{change.year}: {change.name}", "left", weight="bold")
    return fig


def _draw_row(
    ax: Axes, y: float, words: Mapping[str, str], lit: Collection[str], heads: tuple[int, int]
) -> None:
    """Draw boxes one beside the other, and the residual stream that goes around two of them."""
    spots, x = {}, 0.5
    for place, text in words.items():
        room = max(map(len, text.format(*heads).split("\n"))) * 1.04 + 0.9
        width = 3.0 if text.endswith("Norm") and "\n" not in text else room
        spots[place] = Box(x, y, width, 10.5)
        x += width + 1.4
    for place, box in spots.items():
        color, share, weight = (FIRST, 0.3, "bold") if place in lit else (NEUTRAL, 0.15, "normal")
        draw_area(ax, box[:2], box.width, box.height, color, share, lw=2)
        turn = 90 if box.width == 3.0 else 0
        write(ax, *box.center, words[place].format(*heads), weight=weight, rotation=turn)
    for left, right in pairwise(spots.values()):
        draw_arrow(ax, left.right, right.left)
    high = y + 12.2
    for before, after in (("positions", "add 1"), ("add 1", "add 2")):
        start, end = spots[before].right[0] + 0.5, spots[after].top[0] - 0.5
        draw_line(ax, (start, y + 5.25), (start, high), (end, high))
        draw_arrow(ax, (end, high), (end, y + 10.5))


Dated = Sequence[tuple[str, int]]  # names and years
BRANCHES = {"encoder only": ENCODER, "both halves": NEUTRAL, "decoder only": DECODER}
COLUMNS, LINE = (1.5, 17.0, 29.0), 2.3  # of the tree: where its lines are, and from name to name


def draw_family(branches: Mapping[str, Dated], ideas: Dated) -> Figure:
    """Draw the models of each branch down the years, each with its name, and each year's ideas above them.

    `branches` and `ideas` give names and years, in order.
    """
    lanes = list(branches.values())
    every = [year for lane in (*lanes, ideas) for _, year in lane]
    years = range(min(every), max(every) + 1)
    counts = {year: 1 + max(sum(y == year for _, y in lane) for lane in lanes) for year in years}
    height = LINE * sum(counts.values())
    fig, ax = new_canvas(46, height + 6.5)
    write(ax, COLUMNS[1], height + 5.3, "Transformer, 2017", weight="bold")
    for name, x in zip(branches, COLUMNS, strict=True):
        draw_line(ax, (COLUMNS[1], height + 4.2), (x, height + 2.8), (x, 0.4), color=BRANCHES[name])
        write(ax, x + 1, height + 1.4, name, "left", color=MUTED)
    top = height
    for year, count in counts.items():
        ax.add_patch(Rectangle((0, top - LINE), 46, LINE, facecolor=PAPER, lw=0, zorder=2))
        ax.add_patch(Rectangle((0, top - LINE), 46, LINE, facecolor=to_rgba(NEUTRAL, 0.2), lw=0, zorder=2))
        words = ", ".join(word for word, y in ideas if y == year)
        write(ax, 0.5, top - LINE / 2, str(year), "left", weight="bold")
        write(ax, 6.5, top - LINE / 2, words, "left", color=MUTED)
        for lane, x, name in zip(lanes, COLUMNS, branches, strict=True):
            for place, word in enumerate(word for word, y in lane if y == year):
                y = top - LINE * (place + 1.5)
                ax.plot([x], [y], marker="o", color=BRANCHES[name], markersize=6, ls="")
                write(ax, x + 1, y, word, "left", color=INK)
        top -= LINE * count
    return fig
