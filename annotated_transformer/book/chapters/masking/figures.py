"""The drawings of the chapter on masking."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from annotated_transformer.book.drawing.boxes import draw_arrow, draw_box
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import cell, draw_matrix, draw_operator
from annotated_transformer.book.drawing.words import write
from annotated_transformer.plotting.attention_map import draw_attention
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    FIRST,
    INK,
    KEY,
    MASKED,
    MUTED,
    NEUTRAL,
    OUTPUT,
    QUERY,
    SECOND,
)

Mask = Bool[Tensor, "queries keys"]
AnyMask = Bool[Tensor, "_ _"]  # in a mapping whose masks differ in size
Weights = Float[Tensor, "queries keys"]
HIDDEN = torch.tensor([[False]])


def draw_with_and_without(
    words: Sequence[str], scores: Sequence[Sequence[int]], mask: Mask, unmasked: Weights, masked: Weights
) -> Figure:
    """Draw scores and weights without a mask, and below, with M added to the scores."""
    fig, ax = new_canvas(14.0, 12.9)
    future = [cell(*pair) for pair in (~mask).nonzero().tolist()]
    wide, narrow, middle = (1.38, 0.9), (0.7, 0.9), (1.0, 0.9)
    for y, weights, title in ((7.35, unmasked, "Without a mask"), (0.8, masked, "With the causal mask")):
        hides = weights is masked
        write(ax, 0.1, y + 5.1, title, "left", weight="bold")
        draw_matrix(ax, 1.85, y, scores, color=NEUTRAL, rows=words, columns=words, name="scores", size=narrow)
        if hides:
            draw_operator(ax, 4.25, y + 1.35, "+")
            look: dict[str, Any] = {"columns": words, "mask": mask, "size": middle}
            draw_matrix(ax, 4.55, y, _additive(mask), color=NEUTRAL, name="$M$", **look)
        start = 7.6 if hides else 4.0
        draw_arrow(ax, (start, y + 1.35), (9.7, y + 1.35), "softmax" if hides else "softmax of each row")
        look = {"mask": mask} if hides else {"highlight": future}
        color = KEY if hides else OUTPUT
        draw_matrix(ax, 9.75, y, weights, color=color, columns=words, name="weights", size=wide, **look)
    return fig


def draw_mask_sum(tokens: Sequence[str], padding: Bool[Tensor, "1 keys"], causal: Mask, both: Mask) -> Figure:
    """Draw the decoder's mask as the sum of padding mask and causal mask, 0 and −∞ in their cells."""
    fig, ax = new_canvas(14.0, 7.0)
    side, bottom = 0.97, 0.95
    masks = {"padding": padding, "causal": causal, "both": both}
    for x, sign, (name, mask) in zip((1.05, 5.55, 10.05), "+= ", masks.items(), strict=True):
        single = len(mask) == 1
        y = bottom + (len(tokens) - len(mask)) * side / 2
        rows = ["all"] if single else []
        look: dict[str, Any] = {"rows": rows, "columns": tokens, "mask": mask, "size": (side, side)}
        box = draw_matrix(ax, x, y, _additive(mask), color=KEY, name=name, **look)
        if sign.strip():
            draw_operator(ax, box.right[0] + 0.4, bottom + len(tokens) * side / 2, sign)
    return fig


def draw_answers(kinds: Mapping[str, tuple[bool, bool]], *, slot: int = 2, slots: int = 4) -> Figure:
    """Draw where the answer of one slot stands, for each pair of (mask, shift)."""
    fig, ax = new_canvas(19.5, 6.3, width=WIDE)
    pitch = 6.1 / slots
    size = pitch - 0.12, 1.1
    for panel, (name, (mask, shift)) in enumerate(kinds.items()):
        left = 0.1 + 6.6 * panel
        inputs = ["<s>", *range(1, slots)] if shift else list(range(1, slots + 1))
        write(ax, left, 5.9, name, "left", weight="bold")
        answer = draw_box(ax, left + pitch * (slot - 1), 3.9, *size, f"$w_{slot}$ ?", color=OUTPUT)
        for number, word in enumerate(inputs, start=1):
            corner = left + pitch * (number - 1), 1.3
            text = f"$w_{word}$" if isinstance(word, int) else word
            if mask and number > slot:
                draw_matrix(ax, *corner, [[text]], color=MASKED, mask=HIDDEN, size=size)
                continue
            lit = word == slot
            box = draw_box(ax, *corner, *size, text, color=SECOND if lit else KEY)
            if lit:
                ax.add_patch(Rectangle(corner, *size, fill=False, edgecolor=INK, lw=2.5, zorder=3))
            draw_arrow(ax, box.top, answer.bottom, color=SECOND if lit else MUTED)
        place = inputs.index(slot) + 1
        where = "hidden" if mask and place > slot else "one slot later" if place > slot else "in its own slot"
        write(ax, left + pitch * slots / 2, 0.6, f"answer {where}")
    return fig


def draw_losses(
    runs: Mapping[str, Sequence[Sequence[float]]], *, chance: float, places: Sequence[tuple[float, float]]
) -> Figure:
    """Draw training losses, several runs under each name; the names stand at `places`.

    `chance` is the lowest expected loss of a model that cannot read the answer.
    """
    fig, ax = new_figure(height=3.9)
    ax.axhline(chance, color=MUTED, lw=1, ls=":")
    looks = ((FIRST, "-", ""), (SECOND, "--", ""), (INK, "-", "o"))
    for (name, losses), (color, style, marker), place in zip(runs.items(), looks, places, strict=True):
        for run in losses:
            look: dict[str, Any] = {"color": color, "linestyle": style, "marker": marker}
            ax.plot(range(len(run)), run, lw=1.5, markersize=4, **look)
        write(ax, *place, name, "left")
    # Room below 0, so that a loss of 0 does not lie on the axis.
    ax.set(ylim=(-0.08 * chance, 1.5 * chance), xlabel="training step", ylabel="training loss")
    ax.set_yticks([0, 1, chance], ["0", "1", "log 10"])
    return fig


def draw_reach(panels: Mapping[str, AnyMask]) -> Figure:
    """Draw side by side which output reacts to which input; a reaction to a later input is marked."""
    fig, ax = new_canvas(14.0, 7.5)
    for place, (title, reach) in enumerate(panels.items()):
        leaks = [(i, j) for i, j in reach.nonzero().tolist() if j > i]
        text = [["!" if (i, j) in leaks else "" for j in range(len(reach))] for i in range(len(reach))]
        names = [str(number + 1) for number in range(len(reach))]
        look: dict[str, Any] = {
            "rows": names if place == 0 else (),
            "columns": names,
            "highlight": [cell(*pair) for pair in leaks],
            "mask": reach,
            "size": (0.65, 0.65),
        }
        x = 1.35 + 4.3 * place
        box = draw_matrix(ax, x, 0.95, text, color=QUERY if leaks else KEY, **look)
        write(ax, box.center[0], 5.7, title, height="bottom", linespacing=1.3)
        write(ax, box.center[0], 0.75, "input $j$", height="top", color=MUTED)
    write(ax, 0.25, 0.95 + 3 * 0.65, "output $i$", rotation=90, color=MUTED)
    return fig


def draw_staircase(weights: Weights) -> Figure:
    """Draw weights on a map, with a line between the past and the future; weights of 0 are hatched."""
    fig, ax = new_figure(height=4.6)
    tokens = len(weights)
    names = [str(number + 1) for number in range(tokens)]
    draw_attention(ax, weights, names, names, mask=weights > 0)
    steps = [(i + right, i + down) for i in range(tokens) for right, down in ((1, 0), (1, 1))][:-1]
    ax.plot(*zip(*steps, strict=True), color=QUERY, marker="", linestyle="-")
    return fig


def draw_pasts(orders: Sequence[Sequence[str]]) -> Figure:
    """Draw, for two orders of the same words, which words each position has read in a causal first layer.

    The first words may change places; a stack that the other order lacks is framed.
    """
    words, others = orders
    count, high = len(words), 0.85
    looks = dict(zip(words, (FIRST, SECOND, *[NEUTRAL] * count), strict=False))
    fig, ax = new_canvas(19.5, count * high + 4.9, width=WIDE)
    top = count * high + 2.5
    pitch = 9.2 / count
    pasts = [[frozenset(order[: place + 1]) for place in range(count)] for order in (words, others)]
    for panel, order in enumerate(orders):
        left = 0.1 + 10.1 * panel
        reader = draw_box(
            ax, left, top + 1.2, 9.05, 1.0, f"{order[-1]}, layer 2, reads all stacks", color=NEUTRAL
        )
        for place, word in enumerate(order):
            x, past = left + pitch * place, pasts[panel][place]
            below = draw_box(ax, x, 0.3, pitch - 0.15, 0.9, word, color=looks[word])
            draw_arrow(ax, below.top, (below.top[0], 2.1))
            shown = [name for name in words if name in past]
            for level, name in enumerate(shown):
                draw_box(ax, x, 2.1 + level * high, pitch - 0.15, high, name, color=looks[name])
            end = 2.1 + len(shown) * high
            draw_arrow(ax, (below.top[0], end), (below.top[0], reader.y))
            if past not in pasts[1 - panel]:
                ax.add_patch(
                    Rectangle((x, 2.1), pitch - 0.15, end - 2.1, fill=False, edgecolor=INK, lw=3, zorder=5)
                )
    return fig


def _additive(mask: AnyMask) -> list[list[float]]:
    """Return a mask as the matrix M that is added to the scores."""
    return [[0.0 if allowed else -math.inf for allowed in line] for line in mask.tolist()]
