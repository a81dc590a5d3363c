"""The plots of the chapter on why attention is needed."""

import math
from collections.abc import Mapping, Sequence
from itertools import cycle

from matplotlib.figure import Figure

from annotated_transformer.book.drawing.figures import new_figure
from annotated_transformer.book.drawing.words import label_ends, name_rows, write
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, LOOKS, MUTED, NEUTRAL, SECOND

LOWEST, HIGHEST = -12.0, 10.0  # of the logarithms that are drawn


def draw_decay(lines: Mapping[str, Sequence[float]]) -> Figure:
    """Draw the size of gradients over the distance on a log scale; those beyond lie on the edge."""
    fig, ax = new_figure(width=WIDE, height=3.2)
    for (name, values), (color, style, _) in zip(lines.items(), cycle(LOOKS), strict=False):
        logs = [round(math.log10(max(value, 1e-99)), 1) for value in values]
        logs = [min(max(log, LOWEST), HIGHEST) for log in logs]
        ax.plot(range(len(logs)), logs, color=color, linestyle=style, marker="", label=name)
    ax.set(xlabel="distance (words)", ylabel="size of the gradient", ylim=(LOWEST, HIGHEST))
    ax.set_xlim(0, max(len(values) for values in lines.values()) - 1)
    ax.set_yticks([-12, -8, -4, 0, 4, 8], ["1e−12", "1e−8", "1e−4", "1", "1e4", "1e8"])
    label_ends(ax)
    return fig


def draw_copies(
    lines: Mapping[str, Sequence[Sequence[float]]], lengths: Sequence[int], *, guess: float
) -> Figure:
    """Draw the share of words repeated correctly, with a line per model and a mark per seed."""
    fig, ax = new_figure(width=WIDE, height=3.2)
    places = range(len(lengths))
    for (name, runs), (color, style, mark) in zip(lines.items(), cycle(LOOKS), strict=False):
        shown = [[round(value, 2) for value in seeds] for seeds in runs]
        means = [sum(seeds) / len(seeds) for seeds in shown]
        ax.plot(places, means, color=color, linestyle=style, marker=mark, label=name, clip_on=False)
        for place, seeds in zip(places, shown, strict=True):
            ax.plot([place] * len(seeds), seeds, color=color, linestyle="", marker=mark, clip_on=False)
    ax.axhline(guess, color=NEUTRAL, linestyle="-", marker="", linewidth=1.0)
    write(ax, 0, guess - 0.02, "a guess", "left", "top")
    ax.set(xlabel="words in the sentence", ylabel="words repeated correctly", ylim=(0, 1.04))
    ax.set_xticks(list(places), [str(length) for length in lengths])
    ax.set_yticks([0, 0.5, 1], ["0", "½", "1"])
    label_ends(ax, gap=10)
    return fig


def draw_recalled(shares: Mapping[str, Sequence[float]], *, guess: float, least: float) -> Figure:
    """Draw shares of names: a row per network, a mark per run, filled if it is at least `least`: learned."""
    fig, ax = new_figure(width=WIDE, height=0.42 * len(shares) + 1.1)
    for row, values in enumerate(shares.values()):
        ax.plot([0, 1], [row, row], color=NEUTRAL, lw=0.6, ls="-", marker="")
        for seed, value in enumerate(values):
            learned = value > least
            ax.plot(
                [round(value, 2)], [row + 0.17 * (seed - (len(values) - 1) / 2)], ls="",
                color=FIRST if learned else SECOND, marker="o" if learned else "x", clip_on=False,
            )  # fmt: skip
    for place, name in ((guess, "a guess"), (least, "learned: above ¾")):
        ax.axvline(place, color=MUTED, lw=1, ls=":", marker="")
        write(ax, place, -0.7, name, height="bottom", color=MUTED)
    name_rows(ax, shares)
    ax.set(xlim=(0, 1.02), ylim=(len(shares) - 0.5, -0.6), xlabel="names reported correctly")
    ax.set_xticks([0, 0.5, 1], ["0", "½", "1"])
    ax.spines["left"].set_visible(False)
    return fig
