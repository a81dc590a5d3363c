"""The drawing of a layer from 2017 until today, at the head of chapter 22."""

from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from annotated_transformer.book.drawing.boxes import Box, draw_area, draw_arrow, draw_line
from annotated_transformer.book.drawing.figures import new_canvas
from annotated_transformer.book.drawing.words import write
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, NEUTRAL


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
