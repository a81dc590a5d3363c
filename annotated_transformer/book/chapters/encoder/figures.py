"""The drawings of the encoder: a layer, and the way of a sentence through it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from annotated_transformer.book.drawing.add_and_norm import (
    draw_add,
    draw_fork,
    draw_over,
    draw_plus,
    draw_stack_panel,
    draw_stream,
    write_shape,
)
from annotated_transformer.book.drawing.boxes import Box, draw_arrow, draw_box, draw_frame
from annotated_transformer.book.drawing.figures import new_canvas
from annotated_transformer.book.drawing.matrices import Numbers, draw_matrix, draw_operator, row
from annotated_transformer.book.drawing.words import write
from annotated_transformer.plotting.palette import ENCODER, FIRST, INK, KEY, MUTED, NEUTRAL, OUTPUT, QUERY

WIDE = r"$n \times d_\mathrm{model}$"
LEFT = -0.35  # where a shape stands beside the stream
STATIONS = ("x", "attention", "add 1", "norm 1", "feed-forward", "add 2", "norm 2")


def draw_encoder_block() -> Figure:
    """Draw the encoder from the words to z, one layer in full with the shape at each place."""
    fig, ax = new_canvas(14.0, 21.8)
    x, low, high = 3.9, 5.15, 17.4
    draw_stack_panel(ax, Box(0.35, low, 11.6, high - low), ENCODER, step=0.25)
    write(ax, 13.2, (low + high) / 2, r"$N\,\times$", fontsize=15)
    words = draw_box(ax, x - 1.6, 0.15, 3.2, 0.95, "word ids", color=NEUTRAL)
    table = draw_box(ax, x - 2.1, 2.05, 4.2, 1.0, "embedding", color=NEUTRAL)
    places = draw_box(ax, 7.5, 3.45, 3.9, 0.95, "positions", color=NEUTRAL)
    draw_arrow(ax, words, table)
    write_shape(ax, x, 1.55, "$n$", LEFT)
    draw_arrow(ax, table.top, (x, 3.5))
    draw_stream(ax, x, 4.35, high + 0.9)
    draw_arrow(ax, places.left, (x + 0.45, places.left[1]))
    draw_plus(ax, (x, places.left[1]))
    write_shape(ax, x, 4.72, WIDE, LEFT)
    _draw_sublayers(ax, x, low + 0.35, width=6.2, detail=True)
    draw_arrow(ax, (x, high + 0.8), (x, high + 1.75), color=FIRST)
    write(ax, x, high + 2.2, "$z$", fontsize=16)
    write_shape(ax, x, high + 1.1, WIDE, LEFT)
    heads = draw_box(ax, 6.6, high + 1.0, 6.6, 1.0, "a class or a rating", color=OUTPUT)
    memory = draw_box(ax, 6.6, high + 2.7, 6.6, 1.0, "memory for a decoder", color=NEUTRAL)
    draw_arrow(ax, (x + 0.5, high + 2.1), heads.left)
    draw_arrow(ax, (x + 0.5, high + 2.3), memory.left)
    return fig


class Stop(NamedTuple):
    """A place on the way through a layer: what arrives there, and what is made of it."""

    station: str  # of STATIONS
    title: str
    shape: str
    inputs: Mapping[str, Numbers]
    result: Numbers
    name: str
    columns: Sequence[str] = ()


def list_stops(
    words: Sequence[str], *, x: Tensor, weights: Tensor, read: Tensor, a: Tensor, hidden: Tensor,
    added: Tensor, z: Tensor,
) -> list[Stop]:  # fmt: skip
    """Return the stops of a sentence's way through a layer with one head.

    Attention has the weights `weights` and the output `read`, which makes `a`. The feed-forward network has
    the hidden units `hidden` and the output `added`, which makes `z`.
    """
    wide = f"{WIDE} = {x.size(0)} × {x.size(1)}"
    inner = rf"$n \times d_\mathrm{{ff}}$ = {hidden.size(0)} × {hidden.size(1)}"
    square = rf"$h \times n \times n$ = 1 × {x.size(0)} × {x.size(0)}"
    units = [str(unit + 1) for unit in range(hidden.size(1))]
    attended, fed = {"x": x, "output of attention": read}, {"normalized": a, "output of feed-forward": added}
    return [
        Stop("x", "The words enter", wide, {}, x, "x"),
        Stop("attention", "Attention: weights", square, {"x": x}, weights, "weights", words),
        Stop("attention", "Attention: output", wide, {"weights": weights}, read, "output"),
        Stop("add 1", "Add", wide, attended, x + read, "sum"),
        Stop("norm 1", "Norm", wide, {"sum": x + read}, a, "normalized"),
        Stop("feed-forward", "Feed-forward: inside", inner, {"normalized": a}, hidden, "hidden", units),
        Stop("feed-forward", "Feed-forward: output", wide, {"hidden": hidden}, added, "output"),
        Stop("add 2", "Add", wide, fed, a + added, "sum"),
        Stop("norm 2", "Norm", wide, {"sum": a + added}, z, "next layer's x"),
    ]


def draw_walk(stop: Stop, *, words: Sequence[str], features: Sequence[str]) -> Figure:
    """Draw a layer with one place lit, and beside it the numbers that arrive there and leave it."""
    fig, ax = new_canvas(14.0, 14.2)
    x, low = 1.1, 0.6
    ax.add_patch(Rectangle((0.15, low), 5.75, 12.7, facecolor=to_rgba(ENCODER, 0.14), lw=0))
    draw_stream(ax, x, 0.5, 13.4)
    lit = _draw_sublayers(ax, x, low + 0.05, width=3.45, detail=False)
    lit["x"] = Box(x - 0.4, 0.1, 0.8, 0.5)
    draw_arrow(ax, (x, 13.3), (x, 14.05), color=FIRST)
    spot = lit[stop.station]
    around = (spot.x - 0.12, spot.y - 0.12), spot.width + 0.24, spot.height + 0.24
    draw_frame(ax, *around, QUERY, lw=3, zorder=6)
    write(ax, 6.3, 13.65, stop.title, "left", weight="bold")
    write(ax, 6.3, 12.85, stop.shape, "left", color=MUTED)
    size, left, y = (1.43, 0.95), 8.15, 9.6
    shown = [*stop.inputs.items(), (stop.name, stop.result)]
    for place, (name, numbers) in enumerate(shown):
        last = place == len(shown) - 1
        columns = stop.columns if last and stop.columns else features
        wide = len(numbers[0]) == len(features)
        names = (columns if last else features) if wide or (last and stop.columns) else ()
        box = draw_matrix(
            ax, left, y, numbers, color=OUTPUT if last else KEY, rows=words, columns=names, size=size,
            highlight=[row(len(words) - 1)],
        )  # fmt: skip
        write(ax, box.center[0], y - 0.15, name, height="top", weight="bold" if last else "normal")
        if not last:
            sign = "+" if place < len(stop.inputs) - 1 else "↓"
            draw_operator(ax, left - 1.0, y - 0.75, sign)
        y -= 4.2
    return fig


def _draw_sublayers(ax: Axes, x: float, y: float, *, width: float, detail: bool) -> dict[str, Box]:
    """Draw the two sub-layers of a post-norm layer on a stream at `x`; return where each station stands."""
    found: dict[str, Box] = {}
    parts = (
        ("attention", "self-attention" if detail else "attention", r"weights $h \times n \times n$"),
        ("feed-forward", "feed-forward", r"inside $n \times d_\mathrm{ff}$"),
    )
    for number, (station, label, inside) in enumerate(parts, start=1):
        box = draw_box(ax, x + 1.15, y + 1.2, width, 1.9 if detail else 1.2, "")
        middle, end = box.center[0], box.top[1] + 0.75
        if detail:
            write(ax, middle, box.y + 1.33, label, weight="bold")
            write(ax, middle, box.y + 0.58, inside, color=INK)
        else:
            write(ax, *box.center, label)
        draw_fork(ax, x, box, ["$Q$", "$K$", "$V$"] if station == "attention" and detail else [""])
        draw_add(ax, box, (x, end))
        left, long = (1.65, 3.3) if detail else (0.8, 1.7)
        norm = Box(x - left, end + 0.85, long, 1.0)
        draw_over(ax, norm, "LayerNorm" if detail else "norm")
        if detail:
            write_shape(ax, middle, end + 0.3, WIDE, 0.15)
            write_shape(ax, x, y + 1.9, WIDE, LEFT)
        found[station], found[f"norm {number}"] = box, norm
        found[f"add {number}"] = Box(x - 0.42, end - 0.42, 0.84, 0.84)
        y = norm.top[1]
    return found
