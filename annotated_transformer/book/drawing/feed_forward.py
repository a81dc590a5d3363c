"""The drawings of the chapter on the feed-forward network."""

from collections.abc import Mapping, Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Box, draw_arrow
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import Numbers, draw_matrix, row
from annotated_transformer.book.drawing.palette import (
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

CASES = {(1, 1): "good", (-1, -1): "not bad", (1, -1): "not good", (-1, 1): "bad"}
LOOKS = ((FIRST, "o"), (SECOND, "s"), (VALUE, "^"))


def bend(x: Tensor, slope: float) -> Tensor:
    """Return two hidden units for two features; `slope` is 0 for ReLU and 1 for no nonlinearity."""
    total = x.sum(dim=-1)
    return torch.nn.functional.leaky_relu(torch.stack([total - 1, -total - 1], dim=-1), slope)


def draw_fold(slope: float) -> Figure:
    """Draw four words in the plane of their features, and in that of two hidden units with a line."""
    fig, (plane, hidden) = new_figure(2, 1, height=5.4)
    plane.set_title("Two features of a word", loc="left")
    hidden.set_title("Two hidden units", loc="left")
    points = torch.tensor(list(CASES), dtype=torch.float64)
    steps = torch.linspace(-2.4, 2.4, 49, dtype=torch.float64)
    path = bend(torch.stack([steps / 2, steps / 2], dim=-1), slope)
    hidden.plot(*path.T.tolist(), color=NEUTRAL, lw=3, ls="-", marker="", zorder=1)
    bent = bend(points, slope).tolist()
    for (x, word), h in zip(CASES.items(), bent, strict=True):
        color, mark = LOOKS[x[0] * x[1] < 0]
        plane.plot(*x, color=color, marker=mark, ls="", markersize=11)
        plane.annotate(word, x, (11, 0), textcoords="offset points", ha="left", va="center")
        hidden.plot(*h, color=color, marker=mark, ls="", markersize=11, zorder=3)
    good, not_bad, mixed, _ = bent
    for name, spot in (("good", good), ("not bad", not_bad)):
        hidden.annotate(name, spot, (9, 5), textcoords="offset points", ha="left", va="bottom")
    hidden.annotate("bad, not good", mixed, (-9, -9), textcoords="offset points", ha="right", va="top")
    middle = (sum(good) + sum(mixed)) / 2
    if slope < 1:  # the line halfway between the two kinds
        hidden.plot([middle - 1.7, 1.9], [1.7, middle - 1.9], color=INK, lw=1.5, ls="--", marker="", zorder=2)
    plane.set(xlim=(-2, 2.6), ylim=(-1.7, 1.7), xlabel="opinion", ylabel="polarity")
    hidden.set(xlim=(-4.4, 2.7), ylim=(-3.6, 2.2), xlabel="unit 1", ylabel="unit 2")
    for set_ticks in (plane.set_xticks, plane.set_yticks):
        set_ticks([-1, 1], ["−1", "1"])
    for set_ticks in (hidden.set_xticks, hidden.set_yticks):
        set_ticks([-3, -1, 0, 1], ["−3", "−1", "0", "1"])
    return fig


def draw_positions(x: Numbers, hidden: Numbers, output: Numbers, *, words: Sequence[str]) -> Figure:
    """Draw the words of a sentence on their way through the network, one row each, the last one lit."""
    fig, ax = new_canvas(14.0, 8.3)
    lit = [row(len(words) - 1)]
    looks = {"columns": ("opinion", "polarity", "verdict"), "highlight": lit, "size": (0.95, 1.0)}
    y = 1.0
    first = draw_matrix(ax, 2.6, y, x, color=KEY, rows=words, name="$x$", **looks)  # type: ignore[arg-type]
    off = torch.tensor([[number > 0 for number in line] for line in _lists(hidden)])
    middle = draw_matrix(
        ax, 7.35, y, hidden, color=QUERY, name="hidden", columns=("unit 1", "unit 2"), mask=off,
        highlight=lit, size=(0.95, 1.0),
    )  # fmt: skip
    last = draw_matrix(ax, 11.1, y, output, color=OUTPUT, name="FFN$(x)$", **looks)  # type: ignore[arg-type]
    for place, name in enumerate(("$W_1$, $b_1$", "$W_2$, $b_2$")):
        start, end = ((first, middle), (middle, last))[place]
        for number in range(len(words)):
            height = y + number + 0.5
            color = INK if number == 0 else MUTED
            draw_arrow(ax, (start.right[0] + 0.1, height), (end.x - 0.1, height), color=color)
        ax.text((start.right[0] + end.x) / 2, first.top[1] + 0.35, name, ha="center", va="center")
    return fig


def _lists(numbers: Numbers) -> list[list[float]]:
    lines = numbers.tolist() if isinstance(numbers, Tensor) else numbers
    return [[float(number) for number in line] for line in lines]


def draw_squares() -> Figure:
    """Draw the matrices of an encoder and a decoder layer as areas: a square is d_model × d_model numbers."""
    fig, ax = new_canvas(14.0, 14.6)
    _draw_layer(ax, 14.2, ["self-attention"], "Encoder layer", "8 of 12", "⅔")
    _draw_layer(ax, 7.5, ["self-attention", "cross-attention"], "Decoder layer", "8 of 16", "½")
    return fig


def _draw_layer(ax: Axes, y: float, attentions: Sequence[str], title: str, count: str, share: str) -> None:
    """Draw the matrices of a layer below `y`."""
    unit, x = 1.3, 0.3
    ax.text(x, y, title, ha="left", va="center", weight="bold")
    top = y - 1.35
    for name in attentions:
        ax.text(x, top + 0.1, name, ha="left", va="bottom", color=MUTED)
        for number, letter in enumerate("QKVO"):
            _draw_square(ax, (x + number * unit, top - unit), unit, VALUE, f"$W^{letter}$")
        top -= unit + 0.85
    ax.text(x, top + 0.1, "feed-forward", ha="left", va="bottom", color=MUTED)
    upright = x + 4 * unit + 0.9, y - 1.35 - 4 * unit
    for number in range(4):
        _draw_square(ax, (x + number * unit, top - unit), unit, QUERY)
        _draw_square(ax, (upright[0], upright[1] + number * unit), unit, QUERY)
    wide, tall = Box(x, top - unit, 4 * unit, unit), Box(*upright, unit, 4 * unit)
    for label, box in (("$W_1$", wide), ("$W_2$", tall)):
        edge = Rectangle((box.x, box.y), box.width, box.height, fill=False, edgecolor=QUERY, lw=2.5)
        ax.add_patch(edge)
        ax.text(*box.center, label, ha="center", va="center", fontsize=14)
    ax.text(tall.center[0], tall.top[1] + 0.1, "feed-forward", ha="center", va="bottom", color=MUTED)
    ax.text(11.4, tall.center[1] + 0.5, share, ha="center", va="center", fontsize=34, color=INK)
    ax.text(11.4, tall.center[1] - 1.1, f"{count} squares", ha="center", va="center")


def _draw_square(ax: Axes, corner: tuple[float, float], unit: float, color: str, label: str = "") -> None:
    face = to_rgba(color, 0.25)
    ax.add_patch(Rectangle(corner, unit, unit, facecolor=face, edgecolor=color, lw=1.2))
    ax.text(corner[0] + unit / 2, corner[1] + unit / 2, label, ha="center", va="center")


def draw_kept(
    losses: Mapping[str, Sequence[float]], counts: Sequence[int], *, none: Mapping[str, float]
) -> Figure:
    """Draw how much the loss rises if each token keeps so many hidden units, one line for each model."""
    fig, ax = new_figure(height=3.4)
    places = list(range(1, len(counts) + 1))
    for (name, rises), (color, mark), style in zip(losses.items(), LOOKS, ("-", "--"), strict=False):
        shown = [round(rise, 2) for rise in (none[name], *rises)]
        ax.plot([0, *places], shown, color=color, marker=mark, ls=style, label=name, clip_on=False)
    ax.axhline(0, color=NEUTRAL, lw=1, ls="-", marker="")
    ax.legend(loc="upper right")
    ax.set(xlabel="hidden units kept for each token", ylabel="loss rises by", ylim=(-0.2, None))
    ax.set_xticks([0, *places], [str(count) for count in (0, *counts)])
    return fig


def draw_genders(
    activations: Mapping[str, Mapping[str, Sequence[float]]], *, named: Mapping[str, Sequence[str]]
) -> Figure:
    """Draw the activation of each noun as a mark, one panel for each unit, one row for each article.

    `named` lists the nouns of each article; those of the three highest marks in a row are written out.
    """
    fig, axes = new_figure(len(activations), 1, height=2.75 * len(activations))
    top = max(max(values) for rows in activations.values() for values in rows.values())
    for ax, (title, rows) in zip(axes, activations.items(), strict=True):
        for place, (article, values) in enumerate(rows.items()):
            color, mark = LOOKS[place]
            shown = [round(value, 1) for value in values]
            ax.plot(shown, [place] * len(shown), color=color, marker=mark, ls="", clip_on=False, alpha=0.7)
            order = sorted(range(len(shown)), key=lambda noun: (-shown[noun], noun))[:3]
            words = [named[article][noun] for noun in order if shown[noun] > 0]
            ax.text(0.0, place - 0.42, ", ".join(words), ha="left", va="center", color=MUTED)
        ax.set_title(title, loc="left")
        ax.set(ylim=(len(rows) - 0.6, -0.75), xlim=(-0.12, top + 0.2), xlabel="activation")
        ax.set_yticks(range(len(rows)), list(rows))
        ax.tick_params(axis="y", length=0)
    return fig


def draw_articles(groups: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw the mean probability of each article as a bar, under the name of each group of nouns."""
    fig, ax = new_figure(height=4.6)
    ticks: dict[float, str] = {}
    for number, (title, shares) in enumerate(groups.items()):
        top = number * (len(shares) + 1.3)
        ax.text(0.0, top - 0.85, title, ha="left", va="center", weight="bold")
        for place, (article, share) in enumerate(shares.items()):
            shown, y = round(share, 2), top + place
            face, hatch = to_rgba(LOOKS[place][0], 0.6), ("", "///", "..")[place]
            ax.barh(y, shown, color=face, edgecolor=INK, hatch=hatch, height=0.75)
            ax.text(shown + 0.02, y, f"{shown:.1f}", ha="left", va="center")
            ticks[y] = article
    ax.set(xlim=(0, 1.1), ylim=(max(ticks) + 0.6, -1.4), xlabel="probability of the first word")
    ax.set_yticks(list(ticks), list(ticks.values()))
    ax.set_xticks([0, 0.5, 1], ["0", "½", "1"])
    ax.tick_params(axis="y", length=0)
    return fig
