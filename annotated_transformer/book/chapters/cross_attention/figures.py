"""The drawings of the chapter on cross-attention."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any

from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Box, Point, draw_arrow, draw_box, draw_line
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import Numbers, draw_matrix
from annotated_transformer.book.drawing.words import Curves, Words, label_ends, write, write_beside
from annotated_transformer.plotting.attention_map import draw_attention
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    DECODER,
    ENCODER,
    FIRST,
    INK,
    KEY,
    LOOKS,
    MASKED,
    MUTED,
    NEUTRAL,
    OUTPUT,
    QUERY,
    SECOND,
    VALUE,
)

Weights = Float[Tensor, "queries keys"]
Mask = Bool[Tensor, "queries keys"]
SMALL = (0.95, 0.85)


def draw_two_sequences(
    matrices: Mapping[str, Numbers], *, source: Words, target: Words, features: Words
) -> Figure:
    """Draw how keys and values come from one sequence, queries from another, and where they meet.

    `matrices` holds z, x, K, V, Q, weights and output; `features` names the two columns of z.
    """
    fig, ax = new_canvas(14.0, 17.6)
    sides = (0.1, 8.3, ENCODER, "Encoder: source"), (8.6, 5.3, DECODER, "Decoder: target")
    for x, width, color, title in sides:
        ax.add_patch(Rectangle((x, 6.85), width, 10.6, facecolor=color, alpha=0.12, lw=0))
        write(ax, x + 0.25, 17.0, title, "left", weight="bold")
    ax.add_patch(Rectangle((8.6, 0.1), 5.3, 6.75, facecolor=DECODER, alpha=0.12, lw=0))

    def draw(x: float, y: float, part: str, color: str, rows: Words = (), **look: Any) -> Box:
        return draw_matrix(ax, x, y, matrices[part], color=color, rows=rows, size=SMALL, **look)

    z = draw(3.6, 12.7, "z", NEUTRAL, source, columns=features)
    own = draw(11.2, 13.55, "x", NEUTRAL, target)
    value, key = draw(0.7, 7.55, "V", VALUE), draw(4.3, 7.55, "K", KEY)
    query = draw(11.2, 8.4, "Q", QUERY)
    for box, name in ((z, "$z$"), (own, "$x$"), (value, "$V$"), (key, "$K$"), (query, "$Q$")):
        write(ax, box.right[0] + 0.2, box.right[1], name, "left", fontsize=14)
    draw_arrow(ax, (z.bottom[0] - 0.5, z.y), (value.top[0], value.top[1] + 0.05))
    draw_arrow(ax, (z.bottom[0] + 0.5, z.y), (key.top[0], key.top[1] + 0.05))
    draw_arrow(ax, own.bottom, (query.top[0], query.top[1] + 0.05))
    for spot, text in (((1.75, 11.9), "$W^V$"), ((5.25, 11.5), "$W^K$"), ((12.4, 11.9), "$W^Q$")):
        write(ax, *spot, text, "left", fontsize=14)
    weights = draw(3.9, 2.35, "weights", QUERY, target, columns=source)
    output = draw(11.2, 2.35, "output", OUTPUT, name="output")
    write(ax, weights.center[0], weights.y - 0.15, "weights", height="top", weight="bold")
    meet = weights.top[1] + 1.95
    draw_arrow(ax, key.bottom, (key.bottom[0], meet))
    for start, across, low, high, color in (
        (query.bottom, weights.top[0] + 1.0, 6.4, meet, QUERY),
        (value.bottom, 8.9, 0.75, weights.center[1] - 0.3, VALUE),
    ):
        draw_line(ax, start, (start[0], low), (across, low), color=color)
        draw_arrow(ax, (across, low), (across, high), color=color)
    write(ax, 8.9, weights.center[1], "×", fontsize=17)
    draw_line(ax, weights.right, (8.55, weights.center[1]))
    draw_arrow(ax, (9.25, output.center[1]), output.left)
    return fig


def draw_layers(source: Words, written: Words, coming: str) -> Figure:
    """Draw an encoder's output z, which the cross-attention of each decoder layer reads."""
    step, bottom, layers = 4.0, 2.4, 3
    top = bottom + step * layers
    fig, ax = new_canvas(14.0, top + 2.0)
    for x, color, title in ((0.1, ENCODER, "Encoder"), (8.5, DECODER, "Decoder")):
        ax.add_patch(Rectangle((x, 1.5), 5.4, top - 1.5, facecolor=color, alpha=0.12, lw=0))
        write(ax, x + 0.25, top - 0.5, title, "left", weight="bold")
    stack = draw_box(ax, 0.5, bottom, 4.6, 3.2, f"{layers} layers", color=ENCODER)
    draw_arrow(ax, draw_box(ax, 0.5, 0.15, 4.6, 0.95, " ".join(source), color=NEUTRAL), stack)
    width, memory = 4.6 / len(source), stack.top[1] + 1.6
    for number in range(len(source)):
        z = draw_box(ax, 0.5 + width * number, memory, width, 1.0, f"$z_{number + 1}$", color=ENCODER)
        draw_arrow(ax, (z.bottom[0], stack.top[1]), z.bottom)
    below = draw_box(ax, 8.9, 0.15, 4.6, 0.95, " ".join(written), color=NEUTRAL).top
    bus, heights = 6.0, []
    for layer in range(1, layers + 1):
        y = bottom + step * (layer - 1) - 0.3
        own = draw_box(ax, 8.9, y, 4.6, 1.0, "self-attention", color=DECODER)
        cross = draw_box(ax, 8.9, y + 1.9, 4.6, 1.0, "cross-attention", color=DECODER)
        draw_arrow(ax, below, own.bottom)
        draw_arrow(ax, own, cross)
        below = cross.top
        heights.append(cross.left[1])
        write(ax, own.top[0] + 0.25, y + 1.45, f"$Q^{{({layer})}}$", "left", color=INK)
        draw_arrow(ax, (bus, cross.left[1]), cross.left)
        names = f"$K^{{({layer})}}, V^{{({layer})}}$"
        write(ax, (bus + 8.5) / 2, cross.left[1] + 0.15, names, height="bottom", color=INK)
    draw_line(ax, (5.1, memory + 0.5), (bus, memory + 0.5))
    draw_line(ax, (bus, min(heights)), (bus, max(heights)))
    out = draw_box(ax, 9.7, top + 0.85, 3.0, 0.95, f"{coming} ?", color=OUTPUT)
    draw_arrow(ax, below, out.bottom)
    return fig


def draw_map(
    weights: Weights, *, source: Words, target: Words, marks: Mapping[str, Mask], height: float = 5.2
) -> Figure:
    """Draw a rectangular map, target down and source across.

    The first of `marks` is outlined solid, the second dashed; their names stand below.
    """
    fig, ax = new_figure(height=height)
    draw_attention(ax, weights, target, source)
    looks = ("solid", QUERY, "-", -14), ("dashed", SECOND, "--", -30)
    for (name, cells), (line, color, style, y) in zip(marks.items(), looks, strict=False):
        for i, j in cells.nonzero().tolist():
            place = j + 0.05, i + 0.05
            ax.add_patch(Rectangle(place, 0.9, 0.9, fill=False, edgecolor=color, ls=style, lw=2.4))
        said = bool(cells.any()) * f"{line}: {name}"
        write_beside(ax, (0, 0), (0, y), said, "left", "top", xycoords="axes fraction", color=MUTED)
    return fig


def draw_shift(shares: Curves) -> Figure:
    """Draw, per layer, how often the highest weight is on the source of the next word, or of the last."""
    fig, ax = new_figure(width=WIDE, height=2.9)
    for (name, values), (color, style, mark) in zip(shares.items(), cycle(LOOKS), strict=False):
        layers = range(1, len(values) + 1)
        ax.plot(layers, [round(v, 2) for v in values], color=color, linestyle=style, marker=mark, label=name)
    ax.set(xlabel="decoder layer", ylabel="share of words", ylim=(-0.03, 1), xticks=list(layers))
    ax.set_yticks([0, 0.5, 1], ["0", "½", "1"])
    label_ends(ax, gap=10)
    return fig


def draw_shapes(n_src: int, n_tgt: int) -> Figure:
    """Draw the weights of the three kinds of attention to one scale, hidden cells hatched."""
    cell, gap = 14.6 / (2 * n_src + n_tgt), 2.6
    high = cell * max(n_src, n_tgt)
    fig, ax = new_canvas(20.0, high + 3.3, width=WIDE)
    x, tokens = 1.1, {"src": n_src, "tgt": n_tgt}
    for title, queries, keys, color in (
        ("encoder's\nself-attention", "src", "src", ENCODER),
        ("cross-attention", "tgt", "src", QUERY),
        ("decoder's\nself-attention", "tgt", "tgt", DECODER),
    ):
        hidden, rows, columns = color == DECODER, tokens[queries], tokens[keys]
        for row in range(rows):
            for column in range(columns):
                masked = hidden and column > row
                face, edge = ("none", MASKED) if masked else (to_rgba(color, 0.25), color)
                look: dict[str, Any] = {"facecolor": face, "edgecolor": edge, "hatch": "////" * masked}
                spot = (x + column * cell, 0.6 + high - (row + 1) * cell)
                ax.add_patch(Rectangle(spot, cell, cell, lw=0.8, **look))
        write(ax, x + columns * cell / 2, high + 1.75, title, height="bottom", weight="bold")
        ends = [rf"$n_\mathrm{{{name}}}$ = {tokens[name]}" for name in (queries, keys)]
        write(ax, x + columns * cell / 2, high + 0.75, ends[1], height="bottom", color=INK)
        write(ax, x - 0.15, 0.6 + high - rows * cell / 2, ends[0], "right", rotation=90)
        x += columns * cell + gap - 0.6
    return fig


def draw_cut_off(words: tuple[str, str], coming: str, shares: Mapping[str, float]) -> Figure:
    """Draw where a word that may read only the first row of z gets the second word from, and its success.

    The first of `shares` is the mask added to a trained model, the second the model trained with it, the
    third the same with a causal mask in the encoder, too.
    """
    fig, ax = new_canvas(21.0, 10.6, width=WIDE)
    for place, (title, share) in enumerate(shares.items()):
        x = 0.2 + 7.0 * place
        write(ax, x + 3.2, 9.8, title, weight="bold")
        sources = [draw_box(ax, x + 3.4 * n, 0.3, 3.0, 1.1, word) for n, word in enumerate(words)]
        memory = [draw_box(ax, x + 3.4 * n, 3.6, 3.0, 1.1, f"$z_{n + 1}$", color=ENCODER) for n in range(2)]
        query = draw_box(ax, x, 6.6, 3.0, 1.1, coming, color=QUERY)
        for low, high in zip(sources, memory, strict=True):
            draw_arrow(ax, low, high)
        draw_arrow(ax, memory[0].top, query.bottom)
        _cross_out(ax, (memory[1].top, query.right))
        carried = (sources[1].top, memory[0].bottom)
        if place == 2:
            _cross_out(ax, carried)
        else:
            draw_arrow(ax, *carried, color=FIRST if place == 1 else NEUTRAL)
        write(ax, x + 3.3, 8.5, f"{share:.0%} right", fontsize=14)
    return fig


def _cross_out(ax: Axes, ends: tuple[Point, Point]) -> None:
    """Draw a dotted line with a cross: no way."""
    (a, b), (c, d) = ends
    ax.plot([a, c], [b, d], color=MASKED, ls=":", lw=2, marker="")
    write(ax, (a + c) / 2, (b + d) / 2, "×", fontsize=22, color=INK)


def draw_once(source: Words, target: Words) -> Figure:
    """Draw the steps of a translation, each with a query of its own to one store of keys and values."""
    fig, ax = new_canvas(24.0, 9.6, width=WIDE)
    words = draw_box(ax, 0.1, 0.3, 6.3, 1.2, " ".join(source), color=NEUTRAL)
    encoder = draw_box(ax, 0.1, 3.2, 6.3, 1.2, "encoder", color=ENCODER)
    draw_arrow(ax, words, encoder)
    store = draw_box(ax, 0.1, 6.1, 23.8, 1.2, "$K$ and $V$: computed once, read at every step", color=KEY)
    draw_arrow(ax, encoder.top, (encoder.top[0], store.y))
    pitch = 16.8 / len(target)
    for step, word in enumerate(target):
        x = 7.1 + pitch * step
        box = draw_box(ax, x, 0.3, 0.94 * pitch, 1.2, ["<s>", *target][step], color=NEUTRAL)
        query = draw_box(ax, x, 3.2, 0.94 * pitch, 1.2, f"$q_{step + 1}$", color=QUERY)
        out = draw_box(ax, x, 8.3, 0.94 * pitch, 1.2, word, color=OUTPUT)
        draw_arrow(ax, box, query)
        draw_arrow(ax, query.top, (query.top[0], store.y), color=QUERY)
        draw_arrow(ax, (out.bottom[0], store.y + store.height), out.bottom)
    return fig
