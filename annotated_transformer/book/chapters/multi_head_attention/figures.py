"""The drawings of the chapter on multi-head attention."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Box, Point, draw_area, draw_arrow, draw_box, draw_line
from annotated_transformer.book.drawing.figures import new_canvas
from annotated_transformer.book.drawing.matrices import Numbers, draw_matrix, draw_operator
from annotated_transformer.book.drawing.words import Words, write
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    FIRST,
    INK,
    KEY,
    MUTED,
    NEUTRAL,
    OUTPUT,
    QUERY,
    SECOND,
    VALUE,
)

Head = Mapping[str, Numbers]  # Q, K, V, weights and head
HEADS = ((FIRST, ""), (SECOND, "//"))  # color and hatch of head 1 and head 2


def draw_mixtures(
    weights: Float[Tensor, "heads keys"], values: Float[Tensor, "keys d_v"],
    *, heads: Words, words: Words, results: Words,
) -> Figure:  # fmt: skip
    """Draw rows of weights times the values of the words, and what each row brings back."""
    fig, ax = new_canvas(14.0, 5.0)
    left = draw_matrix(
        ax, 2.6, 0.95, weights, color=QUERY, name="weights", rows=heads, columns=words, size=(1.67, 0.95)
    )
    draw_operator(ax, left.right[0] + 0.4, left.center[1], "×")
    middle = draw_matrix(ax, 8.35, 0.95, values, color=VALUE, name="values", size=(0.65, 0.95))
    draw_operator(ax, middle.right[0] + 0.4, left.center[1], "=")
    right = draw_matrix(ax, 10.4, 0.95, weights @ values, color=OUTPUT, name="output", size=(0.96, 0.95))
    for number, word in enumerate(results):
        y = right.y + right.height - (number + 0.5) * 0.95
        write(ax, right.right[0] + 0.15, y, word, "left", color=INK)
    ax.plot([0.2, 13.8], [left.y + 0.95] * 2, color=INK, lw=1.2, ls=(0, (4, 3)), marker="")
    return fig


def draw_flow(
    x: Numbers, heads: Sequence[Head], w_output: Numbers, output: Numbers, *, words: Words
) -> Figure:
    """Draw two heads from the words to the output, every number in its cell."""
    fig, ax = new_canvas(14.0, 16.4)
    cell = (0.8, 0.72)
    top = draw_matrix(ax, 5.2, 14.0, x, color=NEUTRAL, rows=words, size=cell)
    ax.text(top.right[0] + 0.25, top.center[1], "$x$", va="center", fontsize=14)
    ends = []
    for number, (parts, (color, _)) in enumerate(zip(heads, HEADS, strict=True)):
        x0 = 0.15 + 7.05 * number
        panel = draw_box(ax, x0, 6.0, 6.65, 6.5, "", color=color)
        draw_arrow(ax, (top.center[0] - 1.2 + 2.4 * number, top.y), panel.top)
        i = number + 1
        ax.text(x0 + 0.25, 12.2, f"head {i}", va="top", weight="bold")
        maps = f"$W^Q_{i}, W^K_{i}, W^V_{i}$"
        write(ax, x0 + 6.2, 12.2, maps, "right", "top", color=INK)
        query = _titled(ax, x0 + 0.55, 10.0, parts["Q"], QUERY, f"$Q_{i}$", cell)
        key = _titled(ax, x0 + 2.0, 8.56, parts["K"], KEY, f"$K_{i}$", cell)
        value = _titled(ax, x0 + 4.6, 8.56, parts["V"], VALUE, f"$V_{i}$", cell)
        weights = draw_matrix(ax, x0 + 0.45, 6.9, parts["weights"], color=NEUTRAL, name="weights", size=cell)
        head = draw_matrix(ax, x0 + 4.6, 6.9, parts["head"], color=OUTPUT, name=f"head$_{i}$", size=cell)
        for start in (query, key):
            draw_arrow(ax, start.bottom, (start.bottom[0], weights.top[1]))
        draw_arrow(ax, value.bottom, head.top)
        draw_arrow(ax, weights.right, head.left)
        ends.append(head)
    _draw_concat(ax, ends, heads, w_output, output)
    return fig


def _draw_concat(
    ax: Axes, ends: Sequence[Box], heads: Sequence[Head], w_output: Numbers, output: Numbers
) -> None:
    """Draw the heads side by side, times W^O, at the foot of the flow."""
    size = (0.72, 0.72)
    halves = []
    for number, (parts, (color, _)) in enumerate(zip(heads, HEADS, strict=True)):
        halves.append(draw_matrix(ax, 0.4 + 1.44 * number, 2.3, parts["head"], color=color, size=size))
    write(ax, halves[0].right[0], 2.15, "concat", height="top", weight="bold")
    for end, half, turn in zip(ends, halves, (5.1, 4.5), strict=True):
        draw_line(ax, (end.bottom[0], 6.0), (end.bottom[0], turn), (half.top[0], turn))
        draw_arrow(ax, (half.top[0], turn), half.top)
    draw_operator(ax, 3.75, 2.66, "×")
    matrix = draw_matrix(ax, 4.2, 1.22, w_output, color=NEUTRAL, name="$W^O$", size=size)
    draw_operator(ax, matrix.right[0] + 0.5, 2.66, "=")
    draw_matrix(ax, matrix.right[0] + 1.0, 2.3, output, color=OUTPUT, name="output", size=size)


def _titled(ax: Axes, x: float, y: float, numbers: Numbers, color: str, name: str, size: Point) -> Box:
    """Draw a matrix with its name above it, so that an arrow can leave below."""
    box = draw_matrix(ax, x, y, numbers, color=color, size=size)
    write(ax, box.top[0], box.top[1] + 0.12, name, height="bottom", weight="bold")
    return box


def draw_sum_of_heads(
    heads: Float[Tensor, "heads d_v"], blocks: Float[Tensor, "heads d_v d_model"]
) -> Figure:
    """Draw Concat times W^O, and below it the same as a sum with one term for each head."""
    fig, ax = new_canvas(14.0, 6.9)
    size, terms = (0.85, 0.8), [head[None] @ block for head, block in zip(heads, blocks, strict=True)]
    left = 0.5
    for head, (color, _) in zip(heads, HEADS, strict=True):
        concat = draw_matrix(ax, left, 4.6, head[None], color=color, size=size)
        left = concat.right[0]
    write(ax, 2.2, 4.45, "concat", height="top", weight="bold")
    draw_operator(ax, 4.35, 5.0, "×")
    for number, (block, (color, _)) in enumerate(zip(blocks, HEADS, strict=True)):
        stacked = draw_matrix(ax, 4.8, 5.0 - 1.6 * number, block, color=color, size=size)
        ax.text(stacked.right[0] + 0.15, stacked.center[1], f"$W^O_{number + 1}$", va="center")
    draw_operator(ax, 9.0, 5.0, "=")
    draw_matrix(ax, 9.5, 4.6, sum(terms[1:], terms[0]), color=OUTPUT, name="output", size=size)
    for number, (term, (color, _)) in enumerate(zip(terms, HEADS, strict=True)):
        name = rf"head$_{number + 1}$ $W^O_{number + 1}$"
        box = draw_matrix(ax, 0.5 + 4.5 * number, 0.95, term, color=color, name=name, size=size)
        draw_operator(ax, box.right[0] + 0.97, 1.35, "+" if number == 0 else "=")
    draw_matrix(ax, 9.5, 0.95, sum(terms[1:], terms[0]), color=OUTPUT, name="the same output", size=size)
    return fig


def draw_splits(
    projected: Int[Tensor, "tokens width"], splits: Mapping[str, Int[Tensor, "heads rows d_k"]]
) -> Figure:
    """Draw a projected sentence, and two ways to split it in two heads, each entry colored by its head."""
    fig, ax = new_canvas(14.0, 17.6)
    ax.set_ylim(-0.5, 17.1)
    width = projected.size(1)
    names = [f"token {i}" for i in range(len(projected))]
    _draw_entries(ax, (2.9, 15.6), projected, width, "projected", names)
    legend = "a row is a token\nplain: for head 1\nhatched: for head 2"
    ax.text(8.2, 13.7, legend, va="center", color=MUTED)
    for y, (text, heads) in zip((10.1, 4.6), splits.items(), strict=True):
        for number, numbers in enumerate(heads):
            _draw_entries(ax, (0.4 + 4.0 * number, y), numbers, width, f"head {number + 1}")
        ax.text(8.2, y - 2.0, text, va="center")
    return fig


def _draw_entries(
    ax: Axes, spot: Point, numbers: Int[Tensor, "rows columns"], width: int, title: str, rows: Words = ()
) -> None:
    """Draw a matrix down from `spot`, cell by cell, colored by the head that an entry was made for."""
    x, y = spot
    for row, line in enumerate(numbers.tolist()):
        for column, number in enumerate(line):
            color, hatch = HEADS[number % width // (width // 2)]
            corner = x + 1.2 * column, y - row - 1.0
            draw_area(ax, corner, 1.2, 1, color, 0.3, edgecolor="none")
            ax.add_patch(Rectangle(corner, 1.2, 1, fill=False, edgecolor=color, hatch=hatch))
            write(ax, corner[0] + 0.6, corner[1] + 0.5, str(number), weight="bold")
        if rows:
            write(ax, x - 0.2, y - row - 0.5, rows[row], "right", color=MUTED)
    write(ax, x + 0.6 * numbers.size(1), y + 0.2, title, height="bottom")


def draw_widths(d_model: int, heads: int) -> Figure:
    """Draw what each head makes of a vector of `d_model` features, their concatenation, and the output."""
    fig, ax = new_canvas(19.5, 9.6, width=WIDE)
    side, low = 7.2, 1.0
    draw_box(ax, 0.3, low, 0.9, side, "", color=NEUTRAL)
    part = side / heads
    for number in range(heads):
        lit = number < len(HEADS)
        color, hatch = HEADS[number] if lit else (NEUTRAL, "")
        y = low + side - (number + 1) * part
        small = y + 0.15 * part, y + 0.85 * part
        wedge = (1.2, low), (1.2, low + side), (6.2, small[1]), (6.2, small[0])
        face = to_rgba(color, 0.25 if lit else 0.04)
        edge = to_rgba(color, 1.0 if lit else 0.4)
        ax.add_patch(Polygon(wedge, facecolor=face, edgecolor=edge, lw=0.8, zorder=2 if lit else 1))
        ax.text(7.2, y + part / 2, f"head {number + 1}", va="center")
        for x, bottom, height in ((6.2, small[0], small[1] - small[0]), (11.5, y, part)):
            draw_area(ax, (x, bottom), 0.8, height, color, 0.35, hatch=hatch)
        draw_line(ax, (9.5, y + part / 2), (11.5, y + part / 2), color=color)
    draw_box(ax, 17.6, low, 0.9, side, "", color=OUTPUT)
    middle = low + side / 2
    draw_arrow(ax, (12.3, middle), (17.6, middle), f"$W^O$, {d_model} × {d_model}")
    for x, title, width in (
        (0.75, "$x$", d_model),
        (6.6, f"{heads} heads", f"{d_model // heads} each"),
        (11.9, "concat", d_model),
        (18.05, "output", d_model),
    ):
        write(ax, x, low + side + 0.3, title, height="bottom", weight="bold")
        write(ax, x, low - 0.2, f"{width}", height="top", color=MUTED)
    return fig
