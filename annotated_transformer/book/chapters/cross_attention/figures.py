"""The drawings of the chapter on cross-attention."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

from jaxtyping import Bool, Float
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Box, draw_arrow, draw_box, draw_line, draw_weight
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import Numbers, draw_matrix
from annotated_transformer.plotting.attention_map import draw_attention
from annotated_transformer.plotting.palette import (
    DECODER,
    ENCODER,
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

Weights = Float[Tensor, "queries keys"]
LEAST = 0.03  # thinner lines are left out
SMALL = (0.95, 0.85)


def draw_reading(weights: Weights, *, source: Sequence[str], target: Sequence[str]) -> Figure:
    """Draw source words at the left, target words at the right, and lines as wide as the weights."""
    step = 1.3
    rows = max(len(source), len(target))
    fig, ax = new_canvas(14.0, step * rows + 1.3)
    places = []
    for x, words, color, title in (
        (0.3, source, KEY, "keys, values"),
        (9.7, target, QUERY, "queries"),
    ):
        top = step * (rows + len(words)) / 2
        ys = [top - step * (number + 1) + 0.25 for number in range(len(words))]
        places.append(
            [draw_box(ax, x, y, 4.0, 0.95, word, color=color) for y, word in zip(ys, words, strict=True)]
        )
        ax.text(x + 2.0, step * rows + 0.75, title, ha="center", va="center", weight="bold")
    for i, line in enumerate(weights.tolist()):
        for j, weight in enumerate(line):
            if weight >= LEAST:
                draw_weight(ax, places[0][j].right, places[1][i].left, weight)
    return fig


def draw_two_sequences(
    matrices: Mapping[str, Numbers], *, source: Sequence[str], target: Sequence[str], features: Sequence[str]
) -> Figure:
    """Draw how keys and values come from one sequence, queries from another, and where they meet.

    `matrices` holds z, x, K, V, Q, weights and output; `features` names the two columns of z.
    """
    fig, ax = new_canvas(14.0, 17.6)
    for x, width, color, title in (
        (0.1, 8.3, ENCODER, "Encoder: source"),
        (8.6, 5.3, DECODER, "Decoder: target"),
    ):
        ax.add_patch(Rectangle((x, 6.85), width, 10.6, facecolor=color, alpha=0.12, lw=0))
        ax.text(x + 0.25, 17.0, title, ha="left", va="center", weight="bold")
    ax.add_patch(Rectangle((8.6, 0.1), 5.3, 6.75, facecolor=DECODER, alpha=0.12, lw=0))

    def draw(x: float, y: float, part: str, color: str, rows: Sequence[str] = (), **look: Any) -> Box:
        return draw_matrix(ax, x, y, matrices[part], color=color, rows=rows, size=SMALL, **look)

    z = draw(3.6, 12.7, "z", NEUTRAL, source, columns=features)
    own = draw(11.2, 13.55, "x", NEUTRAL, target)
    value, key = draw(0.7, 7.55, "V", VALUE), draw(4.3, 7.55, "K", KEY)
    query = draw(11.2, 8.4, "Q", QUERY)
    for box, name in ((z, "$z$"), (own, "$x$"), (value, "$V$"), (key, "$K$"), (query, "$Q$")):
        ax.text(box.right[0] + 0.2, box.right[1], name, ha="left", va="center", fontsize=14)
    draw_arrow(ax, (z.bottom[0] - 0.5, z.y), (value.top[0], value.top[1] + 0.05))
    draw_arrow(ax, (z.bottom[0] + 0.5, z.y), (key.top[0], key.top[1] + 0.05))
    draw_arrow(ax, own.bottom, (query.top[0], query.top[1] + 0.05))
    for spot, text in (((1.75, 11.9), "$W^V$"), ((5.25, 11.5), "$W^K$"), ((12.4, 11.9), "$W^Q$")):
        ax.text(*spot, text, ha="left", va="center", fontsize=14)
    weights = draw(3.9, 2.35, "weights", QUERY, target, columns=source)
    output = draw(11.2, 2.35, "output", OUTPUT, name="output")
    ax.text(weights.center[0], weights.y - 0.15, "weights", ha="center", va="top", weight="bold")
    meet = weights.top[1] + 1.95
    draw_arrow(ax, key.bottom, (key.bottom[0], meet))
    for start, across, low, high, color in (
        (query.bottom, weights.top[0] + 1.0, 6.4, meet, QUERY),
        (value.bottom, 8.9, 0.75, weights.center[1] - 0.3, VALUE),
    ):
        draw_line(ax, start, (start[0], low), (across, low), color=color)
        draw_arrow(ax, (across, low), (across, high), color=color)
    ax.text(8.9, weights.center[1], "×", ha="center", va="center", fontsize=17)
    draw_line(ax, weights.right, (8.55, weights.center[1]))
    draw_arrow(ax, (9.25, output.center[1]), output.left)
    return fig


def draw_layers(source: Sequence[str], written: Sequence[str], coming: str, *, layers: int = 3) -> Figure:
    """Draw an encoder's output z, which the cross-attention of each decoder layer reads."""
    step, bottom = 4.0, 2.4
    top = bottom + step * layers
    fig, ax = new_canvas(14.0, top + 2.0)
    for x, color, title in ((0.1, ENCODER, "Encoder"), (8.5, DECODER, "Decoder")):
        ax.add_patch(Rectangle((x, 1.5), 5.4, top - 1.5, facecolor=color, alpha=0.12, lw=0))
        ax.text(x + 0.25, top - 0.5, title, ha="left", va="center", weight="bold")
    stack = draw_box(ax, 0.5, bottom, 4.6, 3.2, f"{layers} layers", color=ENCODER)
    draw_arrow(ax, draw_box(ax, 0.5, 0.15, 4.6, 0.95, " ".join(source), color=NEUTRAL), stack)
    width, memory = 4.6 / len(source), stack.top[1] + 1.6
    for number in range(len(source)):
        z = draw_box(ax, 0.5 + width * number, memory, width, 1.0, f"$z_{number + 1}$", color=KEY)
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
        ax.text(own.top[0] + 0.25, y + 1.45, f"$Q^{{({layer})}}$", ha="left", va="center", color=INK)
        draw_arrow(ax, (bus, cross.left[1]), cross.left, color=KEY)
        names = f"$K^{{({layer})}}, V^{{({layer})}}$"
        ax.text((bus + 8.5) / 2, cross.left[1] + 0.15, names, ha="center", va="bottom", color=INK)
    draw_line(ax, (5.1, memory + 0.5), (bus, memory + 0.5), color=KEY)
    draw_line(ax, (bus, min(heights)), (bus, max(heights)), color=KEY)
    out = draw_box(ax, 9.7, top + 0.85, 3.0, 0.95, f"{coming} ?", color=OUTPUT)
    draw_arrow(ax, below, out.bottom)
    return fig


def draw_map(
    weights: Weights,
    *,
    source: Sequence[str],
    target: Sequence[str],
    marks: Mapping[str, Bool[Tensor, "queries keys"]] | None = None,
    height: float = 5.2,
) -> Figure:
    """Draw a rectangular map, target down and source across; `marks` are cells to outline.

    The first of `marks` is outlined solid, the second dashed; their names stand below.
    """
    fig, ax = new_figure(height=height)
    draw_attention(ax, weights, target, source)
    for (name, cells), (color, style), y in zip(
        (marks or {}).items(), ((QUERY, "-"), (SECOND, "--")), (0, 1), strict=False
    ):
        for i, j in cells.nonzero().tolist():
            edge = Rectangle((j + 0.05, i + 0.05), 0.9, 0.9, fill=False)
            edge.set(edgecolor=color, linestyle=style, linewidth=2.4)
            ax.add_patch(edge)
        ax.annotate(
            f"{'solid' if style == '-' else 'dashed'}: {name}", (0, 0), (0, -14 - 16 * y),
            xycoords="axes fraction", textcoords="offset points", ha="left", va="top", color=MUTED,
        )  # fmt: skip
    return fig


def draw_shift(shares: Mapping[str, Sequence[float]]) -> Figure:
    """Draw, per layer, how often the highest weight is on the source of the next word, or of the last."""
    fig, ax = new_figure(height=3.2)
    for (name, values), (color, style, mark) in zip(shares.items(), cycle(LOOKS), strict=False):
        layers = range(1, len(values) + 1)
        ax.plot(layers, [round(v, 2) for v in values], color=color, linestyle=style, marker=mark, label=name)
    ax.set(xlabel="decoder layer", ylabel="share of words", ylim=(-0.03, 1))
    ax.set_xticks(list(layers))
    ax.set_yticks([0, 0.5, 1], ["0", "½", "1"])
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.3), ncols=1, borderaxespad=0.0)
    return fig
