"""The drawings of the chapter on self-attention."""

from collections.abc import Mapping, Sequence
from math import cos, pi, sin
from typing import Any

from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Box, draw_arrow, draw_box, draw_weight
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import Highlight, Numbers, as_lists, draw_matrix
from annotated_transformer.book.drawing.words import Words, draw_vector, write
from annotated_transformer.plotting.attention_map import draw_attention
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    FIRST,
    INK,
    KEY,
    KEY_TEXT,
    MUTED,
    NEUTRAL,
    OUTPUT,
    OUTPUT_TEXT,
    QUERY,
    QUERY_TEXT,
    SECOND,
    VALUE,
    VALUE_TEXT,
)

Weights = Float[Tensor, "queries keys"]
LEAST = 0.1  # thinner lines are left out
SMALL = (1.4, 0.85)


def draw_routes(
    sentences: Sequence[Words], weights: Sequence[tuple[Weights, Weights]], *, asking: int, answers: Words
) -> Figure:
    """Draw, for each sentence, what the word `asking` reads in layer 2, and what all these read in layer 1.

    Lines are as wide as the weights of the two layers; `answers` stand at the end of the route.
    """
    step, columns = 0.9, (3.3, 7.1, 10.9)
    panel = step * len(sentences[0]) + 1.7
    fig, ax = new_canvas(14.0, panel * len(sentences))
    for number, (words, (first, second), answer) in enumerate(zip(sentences, weights, answers, strict=True)):
        top = panel * (len(sentences) - number) - 1.5
        heights = [top - step * place for place in range(len(words))]
        for left, right, name in ((0, 1, "layer 1"), (1, 2, "layer 2")):
            write(ax, (columns[left] + columns[right]) / 2, top + 0.75, name, color=MUTED)
        for word, y in zip(words, heights, strict=True):
            bold = "bold" if word in (words[asking], words[-1], answer) else "normal"
            write(ax, columns[0] - 0.3, y, word, "right", weight=bold)
            for x in columns:
                ax.plot([x], [y], color=NEUTRAL, marker="o", markersize=5, ls="")
        read = [place for place in range(len(words)) if second[asking, place] >= LEAST]
        for place in read:
            end = columns[2], heights[asking]
            draw_weight(ax, (columns[1], heights[place]), end, second[asking, place].item())
        for reader in sorted({asking, *read}):
            for place in range(len(words)):
                if first[reader, place] >= LEAST:
                    end = columns[1], heights[reader]
                    draw_weight(ax, (columns[0], heights[place]), end, first[reader, place].item())
        ax.plot(columns, [heights[asking]] * 3, color=NEUTRAL, lw=1.2, ls=":", marker="", zorder=1)
        write(ax, columns[2] + 0.3, heights[asking], f"= {answer}", "left", weight="bold")
    return fig


def draw_roles(matrices: Mapping[str, Numbers], *, words: Words, lit: int) -> Figure:
    """Draw the vectors of a sentence, their queries, keys and values, the weights and the output.

    `matrices` holds x, Q, K, V, weights and output; the word `lit` is lit in each of its roles.
    """
    fig, ax = new_canvas(14.0, 16.8)
    light = Highlight(lit, None)

    def draw(x: float, y: float, part: str, color: str, **look: Any) -> Box:
        lights = look.pop("highlight", [light])
        return draw_matrix(ax, x, y, matrices[part], color=color, highlight=lights, size=SMALL, **look)

    own = draw(5.3, 13.9, "x", NEUTRAL, rows=words)
    write(ax, own.right[0] + 0.2, own.right[1], "$X$", "left", fontsize=14)
    tall = SMALL[1] * len(words)
    boxes = {}
    for x, name, color in ((0.5, "Q", QUERY), (5.9, "K", KEY), (10.2, "V", VALUE)):
        boxes[name] = box = draw(x, 8.9, name, color)
        write(ax, box.right[0] + 0.2, box.right[1], f"${name}$", "left", fontsize=14)
        draw_arrow(ax, (own.bottom[0], own.y - 0.05), (box.top[0], box.top[1] + 0.05))
    for spot, name in (((2.6, 13.0), "Q"), ((7.6, 12.6), "K"), ((10.1, 13.0), "V")):
        write(ax, *spot, f"$W^{name}$", "left", fontsize=14)
    lines = [light, Highlight(None, lit)]
    weights = draw(2.9, 2.7, "weights", QUERY, rows=words, columns=words, highlight=lines)
    output = draw(10.2, 2.7, "output", OUTPUT)
    write(ax, output.right[0] + 0.2, output.right[1], "$Y$", "left", fontsize=14)
    side = weights.y + tall - SMALL[1] * (lit + 1)
    for corner, size, color, style in (
        ((weights.x, side), (weights.width, SMALL[1]), QUERY, "-"),
        ((weights.x + SMALL[0] * lit, weights.y), (SMALL[0], tall), KEY, "--"),
    ):
        ax.add_patch(
            Rectangle(corner, *size, fill=False, edgecolor=color, linestyle=style, linewidth=3, zorder=6)
        )
    above = weights.top[1] + 0.4 + 0.33 * max(map(len, words))
    draw_arrow(ax, boxes["Q"].bottom, (weights.x + 0.4, above), color=QUERY)
    draw_arrow(ax, boxes["K"].bottom, (weights.top[0] + 0.4, above), color=KEY)
    draw_arrow(ax, boxes["V"].bottom, (output.top[0], output.top[1] + 0.05), color=VALUE)
    draw_arrow(ax, weights, output)
    write(ax, weights.center[0], weights.y - 0.2, "weights", height="top", weight="bold")
    word = words[lit]
    for y, text, color in (
        (1.35, f"query of {word}: its row (solid)", QUERY_TEXT),
        (0.8, f"key of {word}: its column (dashed)", KEY_TEXT),
        (0.25, f"value of {word}: what that column multiplies", VALUE_TEXT),
    ):
        write(ax, 0.6, y, text, "left", color=color)
    write(ax, 8.9, output.center[1] + 0.4, "× $V$", color=OUTPUT_TEXT)
    return fig


def draw_own_map(weights: Weights, *, words: Words) -> Figure:
    """Draw the attention map of a sentence that reads itself."""
    fig, ax = new_figure(height=3.9)
    draw_attention(ax, weights, words, words)
    return fig


def draw_circle(names: Words, scores: Words) -> Figure:
    """Draw words in a circle, each with an arrow to the next, which it reads most.

    Each arrow has a symmetric score, and each box shows what its word would require of its two scores.
    """
    fig, ax = new_canvas(14.0, 8.6)
    angles = [pi / 2 - 2 * pi * number / len(names) for number in range(len(names))]
    centers = [(7 + 4.3 * cos(angle), 3.6 + 3.9 * sin(angle)) for angle in angles]
    boxes = [
        draw_box(ax, x - 2.0, y - 0.9, 4.0, 1.8, f"{name}\n{score} > {before}", color=FIRST)
        for (x, y), name, score, before in zip(
            centers, names, scores, [scores[-1], *scores[:-1]], strict=True
        )
    ]
    for number, score in enumerate(scores):
        start, end = boxes[number], boxes[(number + 1) % len(boxes)]
        a, b = _gap(start, end), _gap(end, start)
        draw_arrow(ax, a, b, color=QUERY)
        middle = (a[0] + b[0]) / 2, (a[1] + b[1]) / 2
        out = (middle[0] - 7) * 0.38, (middle[1] - 3.6) * 0.3
        write(ax, middle[0] + out[0], middle[1] + out[1], score, fontsize=14)
    return fig


def _gap(start: Box, end: Box) -> tuple[float, float]:
    """Return where a line from the center of `start` to that of `end` leaves the box of `start`."""
    across, up = end.center[0] - start.center[0], end.center[1] - start.center[1]
    share = min(start.width / 2 / max(abs(across), 1e-9), start.height / 2 / max(abs(up), 1e-9))
    return start.center[0] + share * across, start.center[1] + share * up


def draw_ratios(ratios: Float[Tensor, "layers heads"]) -> Figure:
    """Draw, for each layer, the factor by which each head changes a ratio of two weights; 1 is no change."""
    fig, ax = new_figure(height=3.4)
    layers, heads = ratios.shape
    ax.axhline(1, color=NEUTRAL, lw=1, ls="-", marker="")
    for layer in range(layers):
        places = [layer + 1 + 0.09 * (head - (heads - 1) / 2) for head in range(heads)]
        values = [round(value, 3) for value in ratios[layer].tolist()]
        ax.plot(places, values, color=FIRST, marker="o", ls="", markersize=7)
    ax.set(xlabel="encoder layer", ylabel="factor", xlim=(0.45, layers + 0.5))
    ax.set_yscale("log", base=2)
    ax.set(yticks=[0.5, 1, 2], yticklabels=["½", "1", "2"], ylim=(0.4, 2.5))
    ax.minorticks_off()
    ax.set_xticks(range(1, layers + 1))
    for text, place, ha in (
        ("the adjective\nchanges nothing", (0.55, 1.9), "left"),
        ("↑ “tired” favors animal", (layers + 0.45, 2.2), "right"),
        ("↓ “tired” favors street", (layers + 0.45, 0.46), "right"),
    ):
        write(ax, *place, text, ha, color=INK)
    note = ax.annotate("", (1, 1.05), (1, 1.6), arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.5})
    note.set_zorder(5)
    return fig


def draw_maps(maps: Mapping[str, Weights], *, words: Words) -> Figure:
    """Draw attention maps of the same sentence side by side, each under its name."""
    fig, panels = new_figure(1, len(maps), width=WIDE, height=2.9)
    for ax, (name, weights) in zip(panels, maps.items(), strict=True):
        draw_attention(ax, weights, words, words)
        ax.set_title(name)
        if ax is not panels[0]:
            ax.set(ylabel="")
    return fig


def draw_needs(orders: Words, adjectives: Words) -> Figure:
    """Draw which sign one sum needs in four sentences: two orders of two nouns, with two adjectives.

    The sum is the first noun's logit minus the second's, times a positive number.
    """
    fig, ax = new_canvas(14.0, 6.5)
    nouns = orders[0].split()[0], orders[1].split()[0]
    for line, order in enumerate(orders):
        y = 3.3 - 2.7 * line
        write(ax, 0.1, y + 0.9, order.replace(" ", "\n"), "left")
        for place in range(2):
            positive = place == line
            answer = f"it = {nouns[place if line == 0 else 1 - place]}\nsum {'>' if positive else '<'} 0"
            draw_box(ax, 3.5 + 6.2 * place, y, 3.8, 1.8, answer, color=FIRST if positive else SECOND)
        write(ax, 8.5, y + 0.9, ">" if line == 0 else "<", fontsize=24)
    for place, adjective in enumerate(adjectives):
        write(ax, 5.4 + 6.2 * place, 5.7, f"term of {adjective}", weight="bold")
    return fig


def draw_shuffle(orders: Sequence[Words], inputs: Sequence[Numbers], outputs: Sequence[Numbers]) -> Figure:
    """Draw the vectors of the same words in several orders, before and after self-attention."""
    fig, ax = new_canvas(14.0, 8.4, width=WIDE)
    panel = 14.0 / len(orders)
    for number, (words, before, after) in enumerate(zip(orders, inputs, outputs, strict=True)):
        left, step = panel * number + 0.5, (panel - 1.0) / len(words)
        for y, rows, color in ((5.3, before, NEUTRAL), (0.7, after, OUTPUT)):
            for place, row in enumerate(as_lists(rows)):
                box = draw_vector(
                    ax, left + step * (place + 0.5) - 0.35, y, row, color=color, size=(0.7, 0.4)
                )
                if y < 5:
                    write(ax, box.bottom[0], 0.55, words[place], height="top")
                else:
                    write(ax, box.top[0], box.top[1] + 0.1, words[place], height="bottom")
                    draw_arrow(ax, (box.bottom[0], 5.25), (box.bottom[0], 4.6))
                    draw_arrow(ax, (box.bottom[0], 3.7), (box.bottom[0], 3.15))
        draw_box(ax, left, 3.7, panel - 1.0, 0.9, "self-attention")
    return fig
