"""The drawings of the chapter on the feed-forward network."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from annotated_transformer.book.drawing.boxes import Box, draw_area, draw_arrow
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import draw_matrix, row
from annotated_transformer.book.drawing.words import Curves, Words, name_rows, write, write_beside
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    FIRST,
    INK,
    LOOKS,
    MUTED,
    NEUTRAL,
    OUTPUT,
    SECOND,
)

CASES = {(1, 1): "good", (-1, -1): "not bad", (1, -1): "not good", (-1, 1): "bad"}


def best_line(angle: float) -> tuple[float, bool]:
    """Return how far from the center a line must be to judge as many of the four words right as it can.

    `angle` is the direction, in degrees, that its normal points in; the second result says whether the
    positive side lies in this direction.
    """
    heights = sorted(_height(word, angle) for word in CASES)
    middles = [(low + high) / 2 for low, high in pairwise(heights) if high - low > 1e-9]
    lines = [(middle, ahead) for middle in middles for ahead in (True, False)]
    return min(lines, key=lambda line: (len(misjudged(angle, *line)), round(abs(line[0]), 6), -line[0]))


def misjudged(angle: float, distance: float, ahead: bool) -> list[str]:
    """Return the words on the wrong side of a line."""
    return [name for x, name in CASES.items() if ((_height(x, angle) > distance) == ahead) != (x[0] == x[1])]


def _height(point: tuple[int, int], angle: float) -> float:
    return point[0] * math.cos(math.radians(angle)) + point[1] * math.sin(math.radians(angle))


def draw_lines(angle: float) -> Figure:
    """Draw the four words with the best line whose normal has this angle, and with the lines of two units."""
    fig, (one, two) = new_figure(1, 2, height=2.9)
    distance, ahead = best_line(angle)
    wrong = misjudged(angle, distance, ahead)
    _shade_beyond(one, angle if ahead else angle + 180, distance if ahead else -distance)
    for direction in (45.0, 225.0):  # of the units made by hand, which sum to more than ½ beyond these lines
        _shade_beyond(two, direction, 1.5 / math.sqrt(2))
    for ax, title in ((one, "one line"), (two, "two hidden units")):
        ax.set_title(title)
        for x, word in CASES.items():
            color, _, mark = LOOKS[x[0] * x[1] < 0]
            ax.plot(*x, color=color, marker=mark, ls="", markersize=11, zorder=3)
            if ax is one and word in wrong:
                ax.plot(*x, color=INK, marker="x", ls="", markersize=15, markeredgewidth=2.5, zorder=4)
            side = "bottom" if x[1] > 0 else "top"  # away from the center, where the lines are
            write_beside(ax, x, (0, 10 * x[1]), word, "center", side)
        ax.set(xlim=(-2, 2), ylim=(-2, 2), aspect="equal", xlabel="opinion", ylabel="polarity")
        for set_ticks in (ax.set_xticks, ax.set_yticks):
            set_ticks([-1, 1], ["−1", "1"])
    two.set_ylabel("")
    return fig


def _shade_beyond(ax: Axes, angle: float, distance: float) -> None:
    """Shade the side of a line that lies in the direction of `angle`, and draw the line."""
    x, y = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    far = 9.0  # beyond the panel
    ends = [(distance * x - side * y, distance * y + side * x) for side in (-far, far)]
    beyond = [(end[0] + far * x, end[1] + far * y) for end in reversed(ends)]
    ax.fill(*zip(*ends, *beyond, strict=True), facecolor=FIRST, alpha=0.35, linewidth=0, zorder=1)
    ax.plot(*zip(*ends, strict=True), color=INK, lw=1.5, ls="--", marker="", zorder=2)


def draw_positions(x: Curves, hidden: Curves, output: Curves) -> Figure:
    """Draw the words of a sentence on their way through the network, one row each, the last one lit."""
    words = list(x)
    fig, ax = new_canvas(14.0, 8.3)
    lit = [row(len(words) - 1)]
    looks = {"columns": ("opinion", "polarity", "verdict"), "highlight": lit, "size": (0.95, 1.0)}
    y = 1.0
    first = draw_matrix(ax, 2.6, y, list(x.values()), color=NEUTRAL, rows=words, name="$x$", **looks)  # type: ignore[arg-type]
    off = torch.tensor([[number > 0 for number in line] for line in hidden.values()])
    middle = draw_matrix(
        ax, 7.35, y, list(hidden.values()), color=FIRST, name="hidden", columns=("unit 1", "unit 2"),
        mask=off, highlight=lit, size=(0.95, 1.0),
    )  # fmt: skip
    last = draw_matrix(ax, 11.1, y, list(output.values()), color=OUTPUT, name="FFN$(x)$", **looks)  # type: ignore[arg-type]
    for place, name in enumerate(("$W_1$, $b_1$", "$W_2$, $b_2$")):
        start, end = ((first, middle), (middle, last))[place]
        for number in range(len(words)):
            height = y + number + 0.5
            color = INK if number == 0 else MUTED
            draw_arrow(ax, (start.right[0] + 0.1, height), (end.x - 0.1, height), color=color)
        write(ax, (start.right[0] + end.x) / 2, first.top[1] + 0.35, name)
    return fig


def draw_fold(
    before: Mapping[str, Sequence[float | int]], positive: Mapping[str, bool], *, level: float
) -> Figure:
    """Draw two hidden units of several words before ReLU and after it, and where their sum is `level`."""
    fig, ax = new_figure(height=3.9)
    for name, (x, y) in before.items():
        color, _, mark = LOOKS[not positive[name]]
        folded = max(0.0, x), max(0.0, y)
        ax.plot(x, y, color=color, marker=mark, ls="", markersize=10, markerfacecolor="none", zorder=3)
        ax.plot(*folded, color=color, marker=mark, ls="", markersize=10, zorder=3)
        if folded != (x, y):
            draw_arrow(ax, (x, y), folded, color=MUTED)
    spots: dict[tuple[float, float], list[str]] = {}
    for name, (x, y) in before.items():
        spots.setdefault((x, y), []).append(name)
    for spot, names in spots.items():
        side = "right" if len(names) > 1 else "center"
        write_beside(ax, spot, (0, -10), ", ".join(names), side, "top")
    write(ax, 2.2, 2.1, "verdict 1", "right", "top", color=MUTED)
    write(ax, -0.25, -2.7, "verdict −1", "right", "top", color=MUTED)
    ax.axhline(0, color=NEUTRAL, lw=1, ls="-", marker="", zorder=1)
    ax.axvline(0, color=NEUTRAL, lw=1, ls="-", marker="", zorder=1)
    ax.plot([level - 2, level + 2], [2, -2], color=INK, lw=1.5, ls=":", marker="", zorder=2)
    ax.set(aspect="equal", xlabel="unit 1", ylabel="unit 2", xlim=(-4.1, 2.3), ylim=(-4.1, 2.2))
    ticks = range(-4, 3, 2)
    for set_ticks in (ax.set_xticks, ax.set_yticks):
        set_ticks(ticks, [f"{tick}".replace("-", "−") for tick in ticks])
    return fig


def draw_squares() -> Figure:
    """Draw the matrices of an encoder and a decoder layer as areas: a square is d_model × d_model numbers."""
    fig, ax = new_canvas(14.0, 14.6)
    _draw_layer(ax, 14.2, ["self-attention"], "Encoder layer", "8 of 12", "⅔")
    _draw_layer(ax, 7.5, ["self-attention", "cross-attention"], "Decoder layer", "8 of 16", "½")
    return fig


def _draw_layer(ax: Axes, y: float, attentions: Words, title: str, count: str, share: str) -> None:
    """Draw the matrices of a layer below `y`."""
    unit, x = 1.3, 0.3
    write(ax, x, y, title, "left", weight="bold")
    top = y - 1.35
    for name in attentions:
        write(ax, x, top + 0.1, name, "left", "bottom", color=MUTED)
        for number, letter in enumerate("QKVO"):
            _draw_square(ax, (x + number * unit, top - unit), unit, NEUTRAL, f"$W^{letter}$")
        top -= unit + 0.85
    write(ax, x, top + 0.1, "feed-forward", "left", "bottom", color=MUTED)
    upright = x + 4 * unit + 0.9, y - 1.35 - 4 * unit
    for number in range(4):
        _draw_square(ax, (x + number * unit, top - unit), unit, FIRST)
        _draw_square(ax, (upright[0], upright[1] + number * unit), unit, FIRST)
    wide, tall = Box(x, top - unit, 4 * unit, unit), Box(*upright, unit, 4 * unit)
    for label, box in (("$W_1$", wide), ("$W_2$", tall)):
        ax.add_patch(Rectangle((box.x, box.y), box.width, box.height, fill=False, edgecolor=FIRST, lw=2.5))
        write(ax, *box.center, label, fontsize=14)
    write(ax, tall.center[0], tall.top[1] + 0.1, "feed-forward", height="bottom", color=MUTED)
    write(ax, 11.4, tall.center[1] + 0.5, share, fontsize=34, color=INK)
    write(ax, 11.4, tall.center[1] - 1.1, f"{count} squares")


def _draw_square(ax: Axes, corner: tuple[float, float], unit: float, color: str, label: str = "") -> None:
    draw_area(ax, corner, unit, unit, color, 0.25, lw=1.2)
    write(ax, corner[0] + unit / 2, corner[1] + unit / 2, label)


def draw_kept(losses: Curves, counts: Sequence[int], *, none: float) -> Figure:
    """Draw how much the loss rises if so many hidden units are kept, a line for each way to choose them."""
    fig, ax = new_figure(height=3.4)
    places = list(range(1, len(counts) + 1))
    for (name, rises), (color, style, mark) in zip(losses.items(), LOOKS, strict=False):
        shown = [round(rise, 2) for rise in (none, *rises)]
        ax.plot([0, *places], shown, color=color, marker=mark, ls=style, clip_on=False)
        write_beside(ax, (3, shown[3]), (6, 8), name, "left", "bottom")
    ax.axhline(0, color=NEUTRAL, lw=1, ls="-", marker="")
    ax.set(xlabel="hidden units kept", ylabel="loss rises by", ylim=(-0.2, None))
    ax.set_xticks([0, *places], [str(count) for count in (0, *counts)])
    return fig


def draw_genders(activations: Mapping[str, Curves], *, named: Mapping[str, Words]) -> Figure:
    """Draw the activation of each noun as a mark, one panel for each unit, one row for each article.

    Equal activations lie on top of each other; how many nouns are at 0 is written at the left. `named` lists
    the nouns of each article; those of the three highest marks in a row are written out.
    """
    fig, axes = new_figure(1, len(activations), width=WIDE, height=4.0)
    top = max(max(values) for rows in activations.values() for values in rows.values())
    for ax, (title, rows) in zip(axes, activations.items(), strict=True):
        responds = max(rows, key=lambda article: sum(rows[article]))
        for place, (article, values) in enumerate(rows.items()):
            shown = [round(value, 1) for value in values]
            lit = article == responds
            for number in sorted({number for number in shown if number > 0}):
                heights = [place - 0.11 * level for level in range(shown.count(number))]
                color, mark = (FIRST, "o") if lit else (NEUTRAL, "s")
                ax.plot([number] * len(heights), heights, color=color, marker=mark, ls="", markersize=5)
            write(ax, -0.12, place, f"{shown.count(0.0)} at 0", "right", color=MUTED)
            order = sorted(range(len(shown)), key=lambda noun: (-shown[noun], noun))[:3]
            words = [named[article][noun] for noun in order if shown[noun] > 0]
            spot = (top, "right") if lit else (0.0, "left")
            write(ax, spot[0], place + 0.3, ", ".join(words), spot[1])
        ax.set_title(title, loc="left")
        ax.set(ylim=(len(rows) - 0.5, -0.55), xlim=(-0.36 * top, top + 0.1), xlabel="activation")
        ax.set_xticks(range(int(top) + 1))
        name_rows(ax, rows)
    return fig


def draw_losses(losses: Mapping[str, Curves]) -> Figure:
    """Draw the loss of each training run as a mark, a panel for each task and a row for each block."""
    fig, axes = new_figure(1, len(losses), width=WIDE, height=2.7)
    for ax, (title, blocks) in zip(axes, losses.items(), strict=True):
        ax.axvline(1, color=NEUTRAL, lw=1.5, ls=":", marker="")
        for place, values in enumerate(blocks.values()):
            color, mark = (FIRST, "o") if max(values) < 0.5 else (SECOND, "s")
            shown = [round(value, 3) for value in values]
            ax.plot(shown, [place] * len(shown), color=color, marker=mark, ls="", clip_on=False, alpha=0.7)
        ax.set_title(title, loc="left")
        ax.set(ylim=(len(blocks) - 0.5, -0.7), xlim=(-0.03, 1.1), xlabel="loss in bits")
        ax.set_xticks([0, 0.5, 1], ["0", "½", "1"])
        name_rows(ax, blocks, shown=ax is axes[0])
    write(axes[0], 0.95, 1, "coin toss", "right", color=MUTED)
    return fig


def draw_articles(groups: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw the mean probability of each article as a bar, under the name of each group of nouns."""
    fig, ax = new_figure(height=4.6)
    ticks: dict[float, str] = {}
    for number, (title, shares) in enumerate(groups.items()):
        top = number * (len(shares) + 1.3)
        write(ax, 0.0, top - 0.85, title, "left", weight="bold")
        for place, (article, share) in enumerate(shares.items()):
            shown, y = round(share, 2), top + place
            face, hatch = to_rgba((FIRST, SECOND, NEUTRAL)[place], 0.6), ("", "///", "\\\\\\")[place]
            ax.barh(y, shown, color=face, edgecolor=INK, hatch=hatch, height=0.75)
            write(ax, shown + 0.02, y, f"{shown:.1f}", "left")
            ticks[y] = article
    ax.set(xlim=(0, 1.1), ylim=(max(ticks) + 0.6, -1.4), xlabel="probability of the first word")
    ax.set_yticks(list(ticks), list(ticks.values()))
    ax.set_xticks([0, 0.5, 1], ["0", "½", "1"])
    ax.tick_params(axis="y", length=0)
    return fig
