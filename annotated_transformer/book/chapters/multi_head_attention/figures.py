"""The drawings of the chapter on multi-head attention."""

import math
from collections.abc import Mapping, Sequence
from itertools import cycle

from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.transforms import Affine2D
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Box, draw_arrow, draw_box, draw_line
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import Numbers, draw_matrix, draw_operator
from annotated_transformer.plotting.attention_map import draw_attention
from annotated_transformer.plotting.palette import (
    FIRST,
    INK,
    KEY,
    LOOKS,
    MUTED,
    NEUTRAL,
    OUTPUT,
    PAPER,
    QUERY,
    SECOND,
    VALUE,
)

HEADS = ((FIRST, ""), (SECOND, "//"))  # color and hatch of head 1 and head 2
LEAST = 1e-16  # smaller differences lie on the lower edge
SHADES = 8  # of the small maps, which share one path per shade


def draw_mixtures(
    weights: Float[Tensor, "heads keys"],
    values: Float[Tensor, "keys d_v"],
    *,
    heads: Sequence[str],
    words: Sequence[str],
    results: Sequence[str],
) -> Figure:
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
        ax.text(right.right[0] + 0.15, y, word, ha="left", va="center", color=INK)
    ax.plot([0.2, 13.8], [left.y + 0.95] * 2, color=INK, lw=1.2, ls=(0, (4, 3)), marker="")
    return fig


def draw_flow(
    x: Numbers,
    heads: Sequence[Mapping[str, Numbers]],
    w_output: Numbers,
    output: Numbers,
    *,
    words: Sequence[str],
) -> Figure:
    """Draw two heads from the words to the output, every number in its cell.

    Each of `heads` holds Q, K, V, weights and head.
    """
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
        ax.text(x0 + 6.45, 12.2, maps, ha="right", va="top", color=INK)
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
    ax: Axes, ends: Sequence[Box], heads: Sequence[Mapping[str, Numbers]], w_output: Numbers, output: Numbers
) -> None:
    """Draw the heads side by side, times W^O, at the foot of the flow."""
    size = (0.72, 0.72)
    halves = []
    for number, (parts, (color, _)) in enumerate(zip(heads, HEADS, strict=True)):
        halves.append(draw_matrix(ax, 0.4 + 1.44 * number, 2.3, parts["head"], color=color, size=size))
    ax.text(halves[0].right[0], 2.15, "concat", ha="center", va="top", weight="bold")
    for end, half, turn in zip(ends, halves, (5.1, 4.5), strict=True):
        draw_line(ax, (end.bottom[0], 6.0), (end.bottom[0], turn), (half.top[0], turn))
        draw_arrow(ax, (half.top[0], turn), half.top)
    draw_operator(ax, 3.75, 2.66, "×")
    matrix = draw_matrix(ax, 4.2, 1.22, w_output, color=NEUTRAL, name="$W^O$", size=size)
    draw_operator(ax, matrix.right[0] + 0.5, 2.66, "=")
    draw_matrix(ax, matrix.right[0] + 1.0, 2.3, output, color=OUTPUT, name="output", size=size)


def _titled(
    ax: Axes, x: float, y: float, numbers: Numbers, color: str, name: str, size: tuple[float, float]
) -> Box:
    """Draw a matrix with its name above it, so that an arrow can leave below."""
    box = draw_matrix(ax, x, y, numbers, color=color, size=size)
    ax.text(box.top[0], box.top[1] + 0.12, name, ha="center", va="bottom", weight="bold")
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
    ax.text(2.2, 4.45, "concat", ha="center", va="top", weight="bold")
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
    _draw_entries(ax, 2.9, 15.6, projected, width, "projected", [f"token {i}" for i in range(len(projected))])
    legend = "a row is a token\nplain: for head 1\nhatched: for head 2"
    ax.text(8.2, 13.7, legend, va="center", color=MUTED)
    for y, (text, heads) in zip((10.1, 4.6), splits.items(), strict=True):
        for number, numbers in enumerate(heads):
            _draw_entries(ax, 0.4 + 4.0 * number, y, numbers, width, f"head {number + 1}")
        ax.text(8.2, y - 2.0, text, va="center")
    return fig


def _draw_entries(
    ax: Axes,
    x: float,
    y: float,
    numbers: Int[Tensor, "rows columns"],
    width: int,
    title: str,
    rows: Sequence[str] = (),
) -> None:
    """Draw a matrix cell by cell, colored by the head that an entry was made for."""
    for row, line in enumerate(numbers.tolist()):
        for column, number in enumerate(line):
            color, hatch = HEADS[number % width // (width // 2)]
            corner = x + 1.2 * column, y - row - 1.0
            ax.add_patch(Rectangle(corner, 1.2, 1, facecolor=to_rgba(color, 0.3), edgecolor="none"))
            ax.add_patch(Rectangle(corner, 1.2, 1, fill=False, edgecolor=color, hatch=hatch))
            ax.text(corner[0] + 0.6, corner[1] + 0.5, str(number), ha="center", va="center", weight="bold")
        if rows:
            ax.text(x - 0.2, y - row - 0.5, rows[row], ha="right", va="center", color=MUTED)
    ax.text(x + 0.6 * numbers.size(1), y + 0.2, title, ha="center", va="bottom")


def draw_error_law(measured: Mapping[float, tuple[float, float]]) -> Figure:
    """Draw the errors of the two read-outs over the weight on item a: lines by equation, marks measured."""
    fig, ax = new_figure(height=3.5)
    grid = [step / 100 for step in range(101)]
    lines = [(1 - a) ** 2 / (a**2 + (1 - a) ** 2) for a in grid]
    ax.plot(grid, lines, color=FIRST, linestyle="-", marker="")
    ax.plot(grid, lines[::-1], color=SECOND, linestyle="--", marker="")
    ax.plot([0, 1], [0.5, 0.5], color=INK, linestyle=":", marker="")
    for place, (color, mark) in enumerate(((FIRST, "o"), (SECOND, "s"))):
        errors = [round(pair[place], 3) for pair in measured.values()]
        ax.plot(list(measured), errors, color=color, linestyle="", marker=mark, clip_on=False)
    means = [round(sum(pair) / 2, 3) for pair in measured.values()]
    ax.plot(list(measured), means, color=INK, linestyle="", marker="D", markersize=4, clip_on=False)
    ax.text(0.02, 0.86, "item a", ha="left")
    ax.text(0.98, 0.86, "item b", ha="right")
    ax.text(0.02, 0.53, "mean", ha="left", va="bottom")
    ax.set(xlabel=r"weight $\alpha$ on item a", ylabel="error of the best read-out", ylim=(-0.02, 1.05))
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
    ax.set_yticks([0, 0.5, 1], ["0", "½", "1"])
    return fig


def draw_errors(errors: Mapping[str, Sequence[float]], *, good: Sequence[str] = ()) -> Figure:
    """Draw the errors of trained layers, a row for each kind and a mark for each seed."""
    fig, ax = new_figure(height=0.62 * len(errors) + 1.0)
    for row, (name, values) in enumerate(errors.items()):
        look = {"color": FIRST, "marker": "o"} if name in good else {"color": SECOND, "marker": "s"}
        shown = [round(value, 2) for value in values]
        ax.plot([0, 1], [row, row], color=NEUTRAL, lw=0.6, ls="-", marker="")
        step = 0.48 / max(2, len(shown) - 1)
        heights = [row + step * place - 0.24 for place in range(len(shown))]
        ax.plot(shown, heights, linestyle="", markersize=7, **look)
        said = " to ".join(f"{end:.2f}" for end in sorted({min(shown), max(shown)}))
        plate = {"facecolor": PAPER, "edgecolor": "none", "pad": 1}
        ax.text(max(shown) + 0.04, row, said, va="center", bbox=plate)
    ax.plot([0.5, 0.5], [-0.6, len(errors) - 0.4], color=INK, lw=1.5, ls=":", marker="")
    ax.text(0.5, -0.65, "bound for one head in one layer", ha="center", va="bottom")
    ax.set_yticks(range(len(errors)), list(errors))
    ax.set_xticks([0, 0.5, 1], ["0", "½", "1"])
    ax.set(xlim=(-0.04, 1.04), ylim=(len(errors) - 0.4, -0.6), xlabel="share of the variance lost")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    return fig


def draw_parting(gaps: Mapping[float, Sequence[float]], *, mark: int = 150) -> Figure:
    """Draw the difference between two heads over the updates on a log scale, a line for each start."""
    fig, ax = new_figure(height=3.6)
    ax.axvline(mark, color=MUTED, lw=0.8, ls="-", marker="")
    for (start, values), (color, style, _) in zip(gaps.items(), cycle(LOOKS), strict=False):
        logs = [round(math.log10(max(value, LEAST)), 1) for value in values]
        ax.plot(range(1, len(logs) + 1), logs, color=color, linestyle=style, marker="")
        name = f"$10^{{{round(math.log10(start))}}}$" if start else "0"
        ax.text(-6, logs[0], name, ha="right", va="center", color=color)
    ax.set(xlabel="updates", ylabel="difference between the heads", ylim=(-16.5, 1.5))
    ax.set_xlim(-90, max(len(values) for values in gaps.values()))
    ax.set_xticks([0, mark, 300, 400])
    ax.set_yticks([-15, -10, -5, 0], ["1e−15", "1e−10", "1e−5", "1"])
    return fig


def draw_cost(
    w_query: Float[Tensor, "d_model d_model"], maps: Float[Tensor, "heads tokens tokens"]
) -> Figure:
    """Draw W^Q with its cuts into heads, and the weights of each head, all with actual numbers."""
    fig, ax = new_canvas(14.0, 10.2)
    d_model, heads = len(w_query), len(maps)
    side = 6.0
    shades = (w_query.abs() / w_query.abs().max()).flip(0)
    _draw_shades(ax, 0.4, 2.6, shades, side / d_model, QUERY)
    ax.add_patch(Rectangle((0.4, 2.6), side, side, fill=False, edgecolor=INK, lw=1.6))
    for cut in range(1, heads):
        x = 0.4 + side * cut / heads
        ax.plot([x, x], [2.6, 2.6 + side], color=INK, lw=1.6, ls="-", marker="")
    columns = next(n for n in range(1, heads + 1) if n * n >= heads)
    step = side / columns
    tokens = maps.size(-1)
    for number, weights in enumerate(maps):
        x = 7.6 + step * (number % columns)
        y = 2.6 + side - step * (number // columns + 1)
        size = 0.9 * step / tokens
        _draw_shades(ax, x, y, weights.flip(0), size, FIRST)
        ax.add_patch(Rectangle((x, y), size * tokens, size * tokens, fill=False, edgecolor=MUTED, lw=0.8))
    width = d_model // heads
    for x, title, line in (
        (3.4, "$W^Q$ and its cuts", f"{d_model} × {d_model},\n{heads} × {width} columns"),
        (10.6, "weights", f"{heads} × {tokens} × {tokens}\n= {maps.numel()} numbers"),
    ):
        ax.text(x, 9.0, title, ha="center", va="bottom", weight="bold")
        ax.text(x, 2.2, line, ha="center", va="top", color=MUTED)
    return fig


def _draw_shades(
    ax: Axes, x: float, y: float, numbers: Float[Tensor, "rows columns"], size: float, color: str
) -> None:
    """Draw numbers from 0 to 1 as cells from transparent to `color`, one path for all cells of a shade."""
    levels = (numbers * SHADES).round().int().tolist()
    for level in range(1, SHADES + 1):
        corners = [
            (x + column * size, y + row * size)
            for row, line in enumerate(levels)
            for column, found in enumerate(line)
            if found == level
        ]
        if corners:
            place = [Affine2D().scale(size).translate(*corner) for corner in corners]
            squares = [Path.unit_rectangle().transformed(move) for move in place]
            path = Path.make_compound_path(*squares)
            ax.add_patch(PathPatch(path, facecolor=to_rgba(color, level / SHADES), edgecolor="none"))


def draw_table_3(rows: Mapping[int, float], *, base: int) -> Figure:
    """Draw BLEU over the number of heads, as in rows A of the paper's Table 3."""
    fig, ax = new_figure(height=2.9)
    ax.plot(range(len(rows)), list(rows.values()), color=FIRST, linestyle="-", marker="o")
    for place, (heads, bleu) in enumerate(rows.items()):
        weight = "bold" if heads == base else "normal"
        offset = (0, 8 if place else -18)
        ax.annotate(f"{bleu}", (place, bleu), offset, textcoords="offset points", ha="center", weight=weight)
    ax.set_xticks(range(len(rows)), [f"{heads}\n{512 // heads}" for heads in rows])
    ax.set(
        xlabel="heads, and the width of each", ylabel="BLEU", xlim=(-0.3, len(rows) - 0.7), ylim=(24.4, 26.3)
    )
    ax.set_yticks([25, 26])
    return fig


def draw_learned(
    weights: Float[Tensor, "rows items"], *, rows: Sequence[str], lines: Sequence[int]
) -> Figure:
    """Draw the learned weights on the items when the query names items 2 and 5, with lines between models."""
    fig, ax = new_figure(height=3.9)
    draw_attention(ax, weights, rows, [str(item + 1) for item in range(weights.size(1))])
    ax.set(xlabel="items; the query names 2 and 5", ylabel="")
    for line in lines:
        ax.axhline(line, color=INK, lw=3, marker="", linestyle="-")
    return fig


def draw_trained(maps: Mapping[str, Float[Tensor, "queries keys"]], *, tokens: Sequence[str]) -> Figure:
    """Draw the weights of several heads on one sentence, one map under another."""
    fig, axes = new_figure(len(maps), 1, width=4.2, height=3.6 * len(maps) + 0.6)
    for place, (ax, (name, weights)) in enumerate(zip(axes, maps.items(), strict=True)):
        draw_attention(ax, weights, tokens, tokens)
        ax.set(ylabel=name, xlabel="")
        ax.tick_params(labeltop=place == 0)
    return fig
