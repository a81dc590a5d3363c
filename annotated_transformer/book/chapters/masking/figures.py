"""The drawings of the chapter on masking."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float
from matplotlib.figure import Figure
from torch import Tensor

from annotated_transformer.book.drawing.boxes import draw_arrow, draw_box
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import cell, draw_matrix, draw_operator
from annotated_transformer.plotting.attention_map import draw_attention
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
        ax.text(0.1, y + 5.1, title, ha="left", va="center", weight="bold")
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


def draw_slot(sentence: Sequence[str], slot: int) -> Figure:
    """Draw which input slots the prediction of `slot` reads, and the word that it must predict."""
    fig, ax = new_canvas(14.0, 7.4)
    slots = len(sentence) - 1
    pitch = 13.6 / slots
    width = pitch - 0.3
    target = draw_box(ax, 0.3 + pitch * (slot - 1), 4.9, width, 1.2, f"{sentence[slot]} ?", color=OUTPUT)
    late = slot > slots / 2
    place = target.x + late * width, 6.75
    side = "right" if late else "left"
    ax.text(*place, f"slot {slot} must predict", ha=side, va="center", weight="bold")
    for number, word in enumerate(sentence[:-1], start=1):
        x = 0.3 + pitch * (number - 1)
        if number <= slot:
            draw_arrow(ax, draw_box(ax, x, 1.2, width, 1.2, word, color=KEY).top, target.bottom, color=QUERY)
        else:
            draw_matrix(ax, x, 1.2, [[word]], color=MASKED, mask=HIDDEN, size=(width, 1.2))
        ax.text(x + width / 2, 0.6, f"slot {number}", ha="center", va="center", color=MUTED)
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
        ax.text(*place, name, ha="left", va="center")
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
        ax.text(box.center[0], 5.7, title, ha="center", va="bottom", linespacing=1.3)
        ax.text(box.center[0], 0.75, "input $j$", ha="center", va="top", color=MUTED)
    ax.text(0.25, 0.95 + 3 * 0.65, "output $i$", rotation=90, ha="center", va="center", color=MUTED)
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


def draw_prefixes(sentence: Sequence[str], mask: Mask) -> Figure:
    """Draw one pass for each prefix of `sentence`, and the mask whose rows are those passes."""
    fig, ax = new_canvas(14.0, 6.6)
    tokens = len(sentence)
    side, pitch = 3.8 / tokens, 6.6 / tokens
    for number in range(1, tokens + 1):
        y = 0.5 + (tokens - number) * side
        ax.text(0.1, y + side / 2, f"pass {number}", ha="left", va="center", color=MUTED)
        for place, word in enumerate(sentence[:number]):
            draw_matrix(ax, 2.0 + pitch * place, y + 0.1, [[word]], color=KEY, size=(pitch - 0.1, side - 0.2))
    draw_operator(ax, 9.0, 0.5 + tokens * side / 2, "=")
    blank = [[""] * tokens for _ in sentence]
    draw_matrix(ax, 9.9, 0.5, blank, color=KEY, columns=sentence, mask=mask, size=(side, side))
    ax.text(8.7, 6.35, "one masked pass", ha="left", va="center", weight="bold")
    ax.text(0.1, 6.35, f"{tokens} passes", ha="left", va="center", weight="bold")
    return fig


def draw_masks(masks: Mapping[str, AnyMask], *, rows: Sequence[Sequence[str]]) -> Figure:
    """Draw masks side by side, their tokens beside the rows and above the columns."""
    pitch, side = 14 / len(masks), 0.62
    letters = max(len(word) for words in rows for word in words)
    above, left = max(0.7, 0.34 * letters), max(0.5, 0.31 * letters + 0.25)
    tallest = max(len(mask) for mask in masks.values())
    fig, ax = new_canvas(14.0, tallest * side + above + 1.4)
    for place, ((name, mask), words) in enumerate(zip(masks.items(), rows, strict=True)):
        blank = [[""] * mask.size(1) for _ in mask]
        y = 0.9 + (tallest - len(mask)) * side
        look: dict[str, Any] = {"rows": words[-len(mask) :], "columns": words, "size": (side, side)}
        draw_matrix(ax, place * pitch + left, y, blank, color=KEY, name=name, mask=mask, **look)
    return fig


def _additive(mask: AnyMask) -> list[list[float]]:
    """Return a mask as the matrix M that is added to the scores."""
    return [[0.0 if allowed else -math.inf for allowed in line] for line in mask.tolist()]
