"""The plots of what the chapter on multi-head attention measures."""

import math
from collections.abc import Mapping, Sequence
from itertools import cycle

from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.transforms import Affine2D
from torch import Tensor

from annotated_transformer.book.chapters.multi_head_attention.figures import PLATE
from annotated_transformer.book.drawing.boxes import Point, draw_area, draw_box, draw_line, draw_weight
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import draw_operator
from annotated_transformer.book.drawing.words import Curves, Words, write, write_beside
from annotated_transformer.plotting.attention_map import draw_attention
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    FIRST,
    INK,
    LOOKS,
    MUTED,
    NEUTRAL,
    OUTPUT,
    PAPER,
    QUERY,
    SECOND,
)

LEAST = 1e-16  # smaller differences lie on the lower edge
SHADES = 8  # of the small maps, which share one path per shade


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
    write(ax, 0.02, 0.53, "mean", "left", "bottom")
    ax.set(xlabel=r"weight $\alpha$ on item a", ylabel="error of the best read-out", ylim=(-0.02, 1.05))
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
    ax.set_yticks([0, 0.5, 1], ["0", "½", "1"])
    return fig


def draw_errors(errors: Curves, heads: Mapping[str, Sequence[Sequence[int]]], *, cut: Words = ()) -> Figure:
    """Draw the errors of trained layers: for each kind a sketch, and a mark for each seed.

    `heads` gives the widths of the heads of each layer; the kinds in `cut` have no residual connection.
    """
    fig, ax = new_canvas(19.5, 1.7 * len(errors) + 3.0, width=WIDE)
    left, right, low, high = 9.2, 16.0, 1.7, 1.7 * len(errors) + 1.7
    half = (left + right) / 2
    ax.add_patch(Rectangle((left, low), half - left, high - low, facecolor=to_rgba(FIRST, 0.12), lw=0))
    draw_line(ax, (left, low), (right, low))
    ax.plot([half, half], [low, high], color=INK, lw=1.5, ls=":", marker="")
    note = "out of reach\nfor one head\nin one layer"
    write(ax, (left + half) / 2 - 0.2, high - 1.7, note, color=MUTED)
    for x, label in ((left, "0"), (half, "½"), (right, "1")):
        write(ax, x, low - 0.25, label, height="top")
    write(ax, half, 0.35, "share of the variance lost")
    for row, (name, values) in enumerate(errors.items()):
        y = high - 1.7 * (row + 0.5)
        write(ax, 0.2, y, name, "left")
        _draw_layers(ax, (6.9, y), heads[name], residual=name not in cut)
        shown = [round(value, 2) for value in values]
        color, mark = (FIRST, "o") if max(shown) < 0.45 else (SECOND, "s")
        step = 0.9 / max(2, len(shown) - 1)
        heights = [y + step * place - step * (len(shown) - 1) / 2 for place in range(len(shown))]
        places = [left + (right - left) * value for value in shown]
        ax.plot(places, heights, color=color, marker=mark, ls="", markersize=7)
        said = " to ".join(f"{end:.2f}" for end in sorted({min(shown), max(shown)}))
        write(ax, max(places) + 0.4, y, said, "left")
    return fig


def _draw_layers(ax: Axes, spot: Point, layers: Sequence[Sequence[int]], *, residual: bool) -> None:
    """Draw layers one above another, each head as wide as it is, with the line that passes each layer by."""
    x, y = spot
    unit, gap, pitch = 3.0 / 128, 0.15, 0.72
    bottom = y - pitch * len(layers) / 2
    draw_line(ax, (x, bottom - 0.08), (x, y + pitch * len(layers) / 2 + 0.08))
    for number, widths in enumerate(layers):
        start, low = x - (sum(widths) * unit + gap * (len(widths) - 1)) / 2, bottom + pitch * number
        if residual:
            side = x - 1.8
            draw_line(ax, (x, low + 0.04), (side, low + 0.04), (side, low + 0.68), (x, low + 0.68))
        for width in widths:
            ax.add_patch(Rectangle((start, low + 0.16), width * unit, 0.4, facecolor=PAPER, lw=0, zorder=2))
            draw_area(ax, (start, low + 0.16), width * unit, 0.4, FIRST, 0.45, zorder=3)
            start += width * unit + gap


def draw_parting(gaps: Mapping[float, Sequence[float]], *, mark: int = 150) -> Figure:
    """Draw the difference between two heads over the updates on a log scale, a line for each start."""
    fig, ax = new_figure(height=3.6)
    ax.axvline(mark, color=MUTED, lw=0.8, ls="-", marker="")
    for (start, values), (color, style, _) in zip(gaps.items(), cycle(LOOKS), strict=False):
        logs = [round(math.log10(max(value, LEAST)), 1) for value in values]
        ax.plot(range(1, len(logs) + 1), logs, color=color, linestyle=style, marker="")
        write(ax, -6, logs[0], f"$10^{{{round(math.log10(start))}}}$" if start else "0", "right")
    ax.set(xlabel="updates", ylabel="difference between the heads", ylim=(-16.5, 1.5))
    ax.set(xlim=(-90, max(len(values) for values in gaps.values())), xticks=[0, mark, 300, 400])
    ax.set_yticks([-15, -10, -5, 0], ["$10^{-15}$", "$10^{-10}$", "$10^{-5}$", "$1$"])
    return fig


def draw_cost(w_query: Float[Tensor, "d_model d_model"], maps: Float[Tensor, "heads n n"]) -> Figure:
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
        write(ax, x, 9.0, title, height="bottom", weight="bold")
        write(ax, x, 2.2, line, height="top", color=MUTED)
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
        write_beside(ax, (place, bleu), offset, f"{bleu}", "center", weight=weight)
    ax.set_xticks(range(len(rows)), [f"{heads}\n{512 // heads}" for heads in rows])
    ax.set(xlabel="heads, and the width of each", ylabel="BLEU", yticks=[25, 26])
    ax.set(xlim=(-0.3, len(rows) - 0.7), ylim=(24.4, 26.3))
    return fig


def draw_learned(weights: Float[Tensor, "rows items"], *, rows: Words, lines: Sequence[int]) -> Figure:
    """Draw the learned weights on the items when the query names items 2 and 5, with lines between models."""
    fig, ax = new_figure(height=3.9)
    draw_attention(ax, weights, rows, [str(item + 1) for item in range(weights.size(1))])
    ax.set(xlabel="items; the query names 2 and 5", ylabel="")
    for line in lines:
        ax.axhline(line, color=INK, lw=3, marker="", linestyle="-")
    return fig


def draw_trained(maps: Mapping[str, Float[Tensor, "queries keys"]], *, tokens: Words) -> Figure:
    """Draw the weights of several heads on one sentence, one map under another."""
    fig, axes = new_figure(len(maps), 1, width=4.2, height=3.6 * len(maps) + 0.6)
    for place, (ax, (name, weights)) in enumerate(zip(axes, maps.items(), strict=True)):
        draw_attention(ax, weights, tokens, tokens)
        ax.set(ylabel=name, xlabel="")
        ax.tick_params(labeltop=place == 0)
    return fig


def draw_swap(weights: Mapping[str, Float[Tensor, " words"]], *, reader: str, lit: Words) -> Figure:
    """Draw how much `reader` reads from each word of two sentences, side by side, two words `lit`."""
    colors = dict(zip(lit, (FIRST, SECOND), strict=True))
    fig, ax = new_canvas(19.5, 5.9, width=WIDE)
    outputs = []
    for left, (sentence, row) in zip((0.1, 10.1), weights.items(), strict=True):
        words = sentence.split()
        pitch = 9.3 / len(words)
        output = draw_box(ax, left + 2.65, 4.6, 4.0, 1.1, f"output at {reader}", color=OUTPUT)
        for place, (word, weight) in enumerate(zip(words, row.tolist(), strict=True)):
            color = colors.get(word, NEUTRAL)
            box = draw_box(ax, left + pitch * place, 0.2, pitch - 0.1, 1.0, word, color=color)
            end = output.x + (place + 0.5) * output.width / len(words), output.y
            draw_weight(ax, box.top, end, weight, color=color)
            write(ax, box.top[0], 1.75, f"{weight:.2f}", bbox=PLATE, zorder=5)
        outputs.append(output)
    draw_operator(ax, (outputs[0].right[0] + outputs[1].x) / 2, outputs[0].center[1], "=")
    return fig
