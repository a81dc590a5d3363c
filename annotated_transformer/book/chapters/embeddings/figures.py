"""The drawings of the chapter on embeddings."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Point, draw_arrow, draw_box
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import draw_matrix, draw_operator, row
from annotated_transformer.book.drawing.words import (
    Curves,
    Words,
    name_rows,
    write,
    write_beside,
)
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    DECODER,
    ENCODER,
    FIRST,
    INK,
    LOOKS,
    MUTED,
    NEUTRAL,
    OUTPUT,
    SECOND,
)

CELL = (0.95, 0.95)


def draw_three_uses(
    table: Float[Tensor, "vocab d_model"],
    hidden: Float[Tensor, " d_model"],
    *,
    words: Words,
    source: Words,
    target: Words,
    factor: str,
) -> Figure:
    """Draw one matrix that embeds the words of encoder and decoder, and turns its output into logits."""
    fig, ax = new_canvas(14.0, 11.6)
    corner = 5.2, 3.6
    read = {*source, *target}
    lit = [row(place) for place, word in enumerate(words) if word in read]
    matrix = draw_matrix(ax, *corner, table, color=NEUTRAL, rows=words, size=CELL, highlight=lit)
    write(ax, matrix.center[0], matrix.top[1] + 0.2, "$E$", height="bottom", fontsize=15)
    encoder = draw_box(ax, 0.3, 10.2, 5.0, 1.1, "encoder", color=ENCODER)
    decoder = draw_box(ax, 0.3, 0.3, 13.4, 1.1, "decoder", color=DECODER)
    height = {word: matrix.top[1] - (place + 0.5) * CELL[1] for place, word in enumerate(words)}
    for x, chosen, color, end in ((1.9, source, ENCODER, encoder.y), (1.2, target, DECODER, 1.4)):
        for word in chosen:
            ax.plot([2.35, x], [height[word]] * 2, color=color, lw=2, ls="-", marker="")
        start = height[chosen[0]] if end < height[chosen[0]] else height[chosen[-1]]
        draw_arrow(ax, (x, start), (x, end), color=color)
        write(ax, x + 0.3, end + (-0.75 if end > start else 0.75), factor, "left", color=INK)
    draw_operator(ax, matrix.right[0] + 0.55, matrix.center[1], "×")
    column = draw_matrix(ax, 10.1, matrix.center[1] - 2 * CELL[1], hidden[:, None], color=OUTPUT, size=CELL)
    write(ax, column.center[0], column.top[1] + 0.2, "$h$", height="bottom", fontsize=15)
    draw_arrow(ax, (column.center[0], decoder.top[1]), column.bottom, color=DECODER)
    draw_operator(ax, 11.6, matrix.center[1], "=")
    logits = table @ hidden
    best = row(int(logits.argmax()))
    result = draw_matrix(ax, 12.2, corner[1], logits[:, None], color=OUTPUT, size=CELL, highlight=[best])
    write(ax, result.center[0], result.top[1] + 0.2, "logits", height="bottom", weight="bold")
    return fig


def draw_lookup(
    one_hot: Float[Tensor, "tokens vocab"],
    table: Float[Tensor, "vocab d_model"],
    *,
    words: Words,
    tokens: Words,
) -> Figure:
    """Draw how a product with one-hot rows picks the rows of a matrix."""
    fig, ax = new_canvas(14.0, 7.5)
    size = (0.72, 0.9)
    left = draw_matrix(
        ax, 2.3, 2.45, one_hot, color=FIRST, rows=tokens, columns=words, size=size, name="one-hot"
    )
    draw_operator(ax, left.right[0] + 0.4, left.center[1], "×")
    lit = [row(int(place)) for place in one_hot.argmax(dim=1)]
    y = left.center[1] - len(words) * size[1] / 2
    middle = draw_matrix(ax, 6.8, y, table, color=NEUTRAL, size=size, highlight=lit)
    write(ax, middle.center[0], middle.y - 0.15, "$E$", height="top", fontsize=15)
    draw_operator(ax, middle.right[0] + 0.45, left.center[1], "=")
    draw_matrix(ax, middle.right[0] + 0.9, 2.45, one_hot @ table, color=OUTPUT, size=size, name="rows")
    return fig


def draw_scales(widths: Sequence[int], sizes: Curves, *, places: Sequence[Point]) -> Figure:
    """Draw the size of scaled embeddings over the width, a line per initialization, beside that of positions.

    `places` says where the name of each line stands, in units of the axes. A name that would stand beside the
    widths ends at the largest of them.
    """
    fig, ax = new_figure(height=3.9)
    ax.plot(widths, [0.5**0.5] * len(widths), color=INK, lw=1.5, ls=":", marker="")
    for (name, values), (color, style, mark), place in zip(sizes.items(), LOOKS, places, strict=False):
        ax.plot(widths, [round(v, 3) for v in values], color=color, linestyle=style, marker=mark)
        x, y = place
        within = min(widths) <= x <= max(widths)
        write(ax, x if within else max(widths), y, name, "right")
    write(ax, widths[0], 0.5, "positions", "left", color=MUTED)
    ax.set_xscale("log", base=2)
    ax.set(yscale="log", xticks=list(widths), xticklabels=[f"{width}" for width in widths])
    ax.set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
    ax.minorticks_off()
    ax.set(xlabel="$d_\\mathrm{model}$", ylabel="root mean square")
    return fig


def draw_gradients(rows: Mapping[str, tuple[float, float]], *, names: tuple[str, str]) -> Figure:
    """Draw the length of the gradient of some tokens' rows, from the input and from the output."""
    fig, axes = new_figure(1, 2, height=0.42 * len(rows) + 1.2)
    for side, (ax, name, (color, _, _)) in enumerate(zip(axes, names, LOOKS, strict=False)):
        values = [pair[side] for pair in rows.values()]
        ax.barh(range(len(rows)), values, color=color, hatch="//" * side, edgecolor=INK, linewidth=0.6)
        for place, value in enumerate(values):
            if value == 0:
                write_beside(ax, (0.0, place), (4, 0), "0", height="center")
        ax.set_title(name, loc="left", weight="normal")
        ax.set_xscale("symlog", linthresh=1e-4)
        ax.set(xlim=(0, 10), ylim=(len(rows) - 0.5, -0.5), xlabel="gradient length")
        ax.set_xticks([1e-3, 1e-1, 10], ["0.001", "0.1", "10"])
        ax.minorticks_off()
        name_rows(ax, rows, shown=side == 0)
    return fig


def draw_turned(
    english: Float[Tensor, "words 2"],
    german: Float[Tensor, "words 2"],
    *,
    words: Words,
    limits: tuple[float, float, float, float],
) -> Figure:
    """Draw words of two languages in a plane, each joined to its translation.

    The labels stand outside: to the left of the English words with a negative x, to the right of the others.
    The pair whose German word stands most alone names the two languages.
    """
    fig, ax = new_figure(height=4.3)
    apart = torch.cdist(german, german).fill_diagonal_(torch.inf)
    alone = int(apart.min(dim=1).values.argmax())
    away = bool(german[alone, 0] > german[apart[alone].argmin(), 0])
    margin = 0.025 * (limits[1] - limits[0])
    for place, ((x, y), (u, v), word) in enumerate(
        zip(english.tolist(), german.tolist(), words, strict=True)
    ):
        ax.plot([x, u], [y, v], color=NEUTRAL, lw=1, ls="-", marker="")
        outward = margin if x > 0 else -margin
        write(ax, x + outward, y, word, "left" if x > 0 else "right")
        if place == alone:
            ha = "left" if away else "right"
            write(ax, u + (margin if away else -margin), v, "German", ha, weight="bold")
            drop = 0.055 * (limits[3] - limits[2])
            ha = "left" if x > 0 else "right"
            write(ax, x + outward, y - drop, "English", ha, weight="bold")
    _dots(ax, english, FIRST, "o", "English")
    _dots(ax, german, SECOND, "s", "German")
    ax.set(xlim=limits[:2], ylim=limits[2:], xticks=[], yticks=[])
    ax.spines[["left", "bottom"]].set_visible(False)
    return fig


def _dots(ax: Axes, points: Float[Tensor, "words 2"], color: str, mark: str, name: str) -> None:
    ax.plot(*points.T.tolist(), color=color, marker=mark, ls="", markersize=8, label=name)


def draw_languages(
    panels: Mapping[str, tuple[Float[Tensor, " _"], Float[Tensor, " _"], float, float]],
) -> Figure:
    """Draw where English and German words lie on lines, each with the border that separates them best.

    A panel holds the places of both languages, the border, and the share of words on their own side of it.
    """
    fig, _ = new_figure(len(panels), 1, width=WIDE, height=1.75 * len(panels))
    for ax, (name, (english, german, border, right)) in zip(fig.axes, panels.items(), strict=True):
        for line, (places, color) in enumerate(((english, FIRST), (german, SECOND))):
            ax.plot(places.tolist(), [1 - line] * len(places), color=color, marker="|", ls="", markersize=16)
        ax.axvline(border, color=INK, ls="--", lw=1.5, marker="")
        write_beside(ax, (border, 1.45), (6, 0), f"{right:.0%} on their own side", "left", "bottom")
        ax.set(ylim=(-0.5, 1.5), xlabel=name, yticks=[1, 0], yticklabels=["English", "German"], xticks=[])
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
    return fig


def draw_hits(rows: Curves, *, chance: float, lit: Words) -> Figure:
    """Draw how often the nearest word is the translation, a row of marks for each kind."""
    fig, ax = new_figure(width=WIDE, height=0.42 * len(rows) + 1.0)
    ax.axvline(chance, color=MUTED, lw=1.5, ls=":", marker="")
    for line, (name, values) in enumerate(rows.items()):
        ax.plot([0, 1], [line, line], color=NEUTRAL, lw=0.6, ls="-", marker="", zorder=0)
        color, mark = (FIRST, "o") if name in lit else (SECOND, "s")
        ax.plot(values, [line] * len(values), color=color, marker=mark, ls="", markersize=9, alpha=0.6)
    name_rows(ax, rows)
    ax.set_xticks([0, 0.5, 1], ["0%", "50%", "100%"])
    ax.set(xlim=(-0.02, 1.02), ylim=(len(rows) - 0.5, -0.5), xlabel="translation is the nearest word")
    ax.spines["left"].set_visible(False)
    return fig
