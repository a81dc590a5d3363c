"""The drawings of the chapter on scaled dot-product attention."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Box, draw_arrow, draw_line, draw_weight
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import (
    Numbers,
    as_lists,
    cell,
    column,
    draw_matrix,
    draw_operator,
    row,
)
from annotated_transformer.book.drawing.words import Curves, Words, write, write_beside
from annotated_transformer.plotting.attention_map import draw_attention
from annotated_transformer.plotting.palette import (
    FIRST,
    INK,
    KEY,
    LOOKS,
    MUTED,
    NEUTRAL,
    OUTPUT,
    QUERY,
    SECOND,
    VALUE,
)

Vector = tuple[float, float]
Reading = tuple[Sequence[float], Vector]  # weights of one query, and the output


def draw_readings(readings: Mapping[str, Reading], values: Curves, *, asking: int, features: Words) -> Figure:
    """Draw the vectors that one word gets in different sentences, pulled toward the values that it reads.

    `readings` maps a sentence to the weights and the output of its word number `asking`. The lines from the
    values to an output are as wide as the weights.
    """
    fig, ax = new_figure(height=4.6)
    for sentence, (weights, output) in readings.items():
        words = sentence.split()
        for word, weight in zip(words, weights, strict=True):
            (x, y), (u, v) = values[word], output
            draw_weight(ax, (x, y), (u, v), weight)
            _write_beside(ax, (x, y), (u, v), f"{weight:.2f}")
        ax.plot(*output, color=OUTPUT, marker="D", markersize=11, markeredgecolor=INK, ls="", zorder=3)
        write_beside(ax, output, (9, 4), f"{words[asking]} in\n{sentence}", height="bottom", weight="bold")
    for word, (x, y) in values.items():
        ax.plot(x, y, color=VALUE, marker="o", markersize=9, markeredgecolor=INK, ls="", zorder=2)
        write_beside(ax, (x, y), (7, 7) if y else (0, -8), word, height="bottom" if y else "top")
    top = max(max(vector) for vector in values.values())
    limits, ticks = (-0.15 * top, 1.35 * top), (0, top / 2, top)
    ax.set(xlabel=features[0], ylabel=features[1], xlim=limits, ylim=limits, xticks=ticks, yticks=ticks)
    ax.set_aspect("equal")
    return fig


def _write_beside(ax: Axes, start: Vector, end: Vector, text: str) -> None:
    """Write a number beside the middle of a line: on its left, or below it."""
    right, up = end[0] - start[0], end[1] - start[1]
    turn = math.copysign(1 / (math.hypot(right, up) or 1.0), up - right)
    across, away = -up * turn, right * turn
    offset = 19 * across, 11 * away  # points
    middle = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    write_beside(ax, middle, offset, text, "center", "center")


def draw_products(
    matrices: Mapping[str, Numbers], *, queries: Words, keys: Words, features: Words, lit: tuple[int, int]
) -> Figure:
    """Draw attention as two products of matrices, with one score and one output followed through.

    `matrices` holds Q, K, products (of the two), weights, V and output; `lit` is a query and a key.
    """
    fig, ax = new_canvas(14.0, 14.2)
    i, j = lit
    keys_as_columns = list(zip(*as_lists(matrices["K"]), strict=True))
    narrow, wide = (0.76, 0.9), (1.27, 0.9)

    def draw(x: float, y: float, part: str, color: str, **look: Any) -> Box:
        look = {"size": wide, "name": part, **look}
        return draw_matrix(ax, x, y, matrices[part.strip("$")], color=color, **look)

    draw(1.75, 9.0, "$Q$", QUERY, rows=queries, axes=("", "$d_k$"), highlight=[row(i)], size=narrow)
    draw_operator(ax, 5.13, 9.9, "×")
    look: dict[str, Any] = {"columns": keys, "highlight": [column(j)], "size": wide}
    draw_matrix(ax, 5.45, 8.1, keys_as_columns, color=KEY, name=r"$K^\top$", **look)
    draw_operator(ax, 9.72, 9.9, "=")
    scores = draw(10.15, 9.0, "products", NEUTRAL, name=r"$QK^\top$", columns=keys, highlight=[cell(i, j)])
    weights = draw(
        1.75, 1.9, "weights", NEUTRAL, rows=queries, columns=keys, highlight=[row(i)], size=(1.42, 0.9)
    )
    turn, down, right = 6.6, weights.top[0], scores.bottom[0]
    draw_line(ax, (right, scores.y - 0.95), (right, turn), (down, turn))
    draw_arrow(ax, (down, turn), (down, weights.top[1] + 1.75))
    write(ax, 1.9, turn + 0.2, "divide by √$d_k$,\nsoftmax of each row", "left", "bottom", color=MUTED)
    draw_operator(ax, 6.4, 2.8, "×")
    draw(6.8, 1.45, "$V$", VALUE, columns=features, highlight=[column(0)])
    draw_operator(ax, 9.8, 2.8, "=")
    draw(10.2, 1.9, "output", OUTPUT, columns=features, highlight=[cell(i, 0)], size=(1.7, 0.9))
    return fig


def draw_width_effect(widths: Sequence[int], panels: Mapping[str, Mapping[bool, Sequence[float]]]) -> Figure:
    """Draw quantities over the width d_k, divided by its root (True) and not divided (False)."""
    fig, _ = new_figure(len(panels), 1, height=3.0 * len(panels))
    names = {True: "divided by √$d_k$", False: "not divided"}
    for ax, (label, series) in zip(fig.axes, panels.items(), strict=True):
        for divided, numbers in series.items():
            color, style, mark = LOOKS[not divided]
            ax.plot(widths, numbers, color=color, linestyle=style, marker=mark)
            third = min(2, len(widths) - 1)
            highest = numbers[third] >= max(other[third] for other in series.values())
            place, offset = (third, 10) if highest else (third // 2, -30)  # above its line, or below it
            spot = widths[place], numbers[place]
            side = "left" if highest else "center"
            write_beside(ax, spot, (0, offset), names[divided], side)
        top = max(max(numbers) for numbers in series.values())
        ax.set(xscale="log", ylabel=label, ylim=(0, 1.25 * top))
        ax.set_xticks(widths, [str(width) for width in widths])
        ax.minorticks_off()
    fig.axes[-1].set_xlabel("width of queries and keys, $d_k$")
    fig.align_ylabels()
    return fig


def draw_sorted_weights(divided: Sequence[float], undivided: Sequence[float]) -> Figure:
    """Draw the mean weight of the best key, the second best, and so on, divided and not divided."""
    fig, ax = new_figure(height=3.4)
    places = range(1, len(divided) + 1)
    ax.bar([p - 0.2 for p in places], list(divided), 0.4, color=FIRST)
    ax.bar([p + 0.2 for p in places], list(undivided), 0.4, color=SECOND, hatch="///", edgecolor="#ffffff")
    ax.set(ylim=(0, 1), xlabel="keys, best match first", ylabel="mean weight", xticks=[1, 4, 8, 12, 16])
    write(ax, 1.6, max(undivided[0], 0.3) - 0.03, "not divided", "left")
    write(ax, 7, max(divided[6:7], default=0.0) + 0.06, "divided by √$d_k$", "left")
    return fig


def draw_spread(products: Mapping[int, Tensor]) -> Figure:
    """Draw how the dot products of each width are distributed, not divided and divided by the root of it."""
    fig, panels = new_figure(len(products), 2, height=0.9 + 0.85 * len(products))
    panels = panels.reshape(len(products), 2)
    widest = max(products)
    for line, (d_k, dots) in zip(panels, products.items(), strict=True):
        for ax, divided in zip(line, (False, True), strict=True):
            root = d_k**0.5 if divided else 1.0
            reach = 3.2 * (1.0 if divided else widest**0.5)
            counts = torch.histc(dots / root, 80, -reach, reach)
            edges = torch.linspace(-reach, reach, 81)
            heights = (counts / counts.max()).tolist()
            look: dict[str, Any] = {"color": FIRST} if divided else {"color": SECOND, "hatch": "///"}
            ax.stairs(heights, edges.tolist(), fill=True, edgecolor="#ffffff", **look)
            write(ax, reach, 0.6, f"±{(dots / root).std():.2g}", "right", "baseline")
            ax.set(xlim=(-reach, reach), ylim=(0, 1.05), yticks=[])
            ax.spines["left"].set_visible(False)
            if ax not in panels[-1]:
                ax.set_xticks([])
        line[0].set_ylabel(f"$d_k$ = {d_k}", rotation=0, ha="right", va="center")
    panels[0, 0].set_title("not divided")
    panels[0, 1].set_title("divided by √$d_k$")
    return fig


def draw_trained(maps: Mapping[str, Tensor]) -> Figure:
    """Draw maps of queries that should each find their own key, and how many have the most weight on it."""
    fig, panels = new_figure(1, len(maps), height=2.8)
    for ax, (name, weights) in zip(panels, maps.items(), strict=True):
        count = len(weights)
        queries, keys = ([f"{kind} {n}" for n in range(1, count + 1)] for kind in ("query", "key"))
        draw_attention(ax, weights, queries, keys, print_values=False)
        found = int((weights.argmax(dim=-1) == torch.arange(count)).sum())
        ax.set(xticks=[], yticks=[], title=name)
        write(ax, count / 2, count + 0.4, f"{found} of {count} found", height="top")
    return fig
