"""The drawings of the chapter on why attention is needed."""

import math
from collections.abc import Mapping, Sequence
from itertools import cycle

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from annotated_transformer.book.drawing.boxes import Box, draw_arrow, draw_box, draw_weight
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.plotting.palette import LOOKS, NEUTRAL, OUTPUT, VALUE

LOWEST = -12.0  # of the logarithms that are drawn


def draw_two_ways(words: Sequence[str], weights: Sequence[float], *, output: str) -> Figure:
    """Draw a sentence that reaches its translation through the last state, and through a weighted average."""
    fig, ax = new_canvas(14.0, 12.9)
    above = _draw_chain(ax, 7.8, words, "Through one vector", 4.6)
    goal = draw_box(ax, 9.6, 10.9, 3.9, 1.0, "translation", color=OUTPUT)
    draw_arrow(ax, above[-1].top, (above[-1].top[0], goal.y))
    below = _draw_chain(ax, 0.5, words, "Through a weighted average", 5.8)
    goal = draw_box(ax, 5.05, 4.4, 3.9, 1.0, output, color=OUTPUT)
    for state, weight in zip(below, weights, strict=True):
        draw_weight(ax, state.top, goal.bottom, weight)
        ax.text(state.center[0], state.center[1], f"{weight:.1f}", ha="center", va="center", weight="bold")
    return fig


def _draw_chain(ax: Axes, y: float, words: Sequence[str], title: str, above: float) -> list[Box]:
    """Draw words at height `y` and a state over each, made from the one before; the title is `above`."""
    step = 13.6 / len(words)
    states: list[Box] = []
    ax.text(0.1, y + above, title, ha="left", va="center", weight="bold")
    for number, word in enumerate(words):
        middle = 0.2 + step * (number + 0.5)
        ax.text(middle, y, word, ha="center", va="center")
        box = draw_box(ax, middle - 0.6, y + 1.2, 1.2, 0.9, "", color=VALUE)
        draw_arrow(ax, (middle, y + 0.4), box.bottom)
        if states:
            draw_arrow(ax, states[-1].right, box.left)
        states.append(box)
    return states


def draw_decay(lines: Mapping[str, Sequence[float]]) -> Figure:
    """Draw the size of gradients over the distance on a log scale; very small ones lie on the lower edge."""
    fig, ax = new_figure(height=4.4)
    for (name, values), (color, style, _) in zip(lines.items(), cycle(LOOKS), strict=False):
        logs = [max(round(math.log10(max(value, 1e-99)), 1), LOWEST) for value in values]
        ax.plot(range(len(logs)), logs, color=color, linestyle=style, marker="", label=name)
    ax.set(xlabel="distance (words)", ylabel="size of the gradient", ylim=(LOWEST, 10.0))
    ax.set_xlim(0, max(len(values) for values in lines.values()) - 1)
    ax.set_yticks([-12, -8, -4, 0, 4, 8], ["1e−12", "1e−8", "1e−4", "1", "1e4", "1e8"])
    ax.legend(loc="upper left", handlelength=1.6)
    return fig


def draw_copies(
    lines: Mapping[str, Sequence[Sequence[float]]], lengths: Sequence[int], *, guess: float
) -> Figure:
    """Draw the share of words repeated correctly, with a line per model and a mark per seed."""
    fig, ax = new_figure(height=3.9)
    places = range(len(lengths))
    for (name, runs), (color, style, mark) in zip(lines.items(), cycle(LOOKS), strict=False):
        shown = [[round(value, 2) for value in seeds] for seeds in runs]
        means = [sum(seeds) / len(seeds) for seeds in shown]
        ax.plot(places, means, color=color, linestyle=style, marker=mark, label=name, clip_on=False)
        for place, seeds in zip(places, shown, strict=True):
            ax.plot([place] * len(seeds), seeds, color=color, linestyle="", marker=mark, clip_on=False)
    ax.axhline(guess, color=NEUTRAL, linestyle="-", linewidth=1.0)
    ax.text(0, guess - 0.02, "a guess", ha="left", va="top")
    ax.set(xlabel="words in the sentence", ylabel="words repeated correctly", ylim=(0, 1.04))
    ax.set_xticks(list(places), [str(length) for length in lengths])
    ax.set_yticks([0, 0.5, 1], ["0", "½", "1"])
    ax.legend(loc="lower left", handlelength=1.8, bbox_to_anchor=(0.0, 1.02), borderaxespad=0.0)
    return fig


def draw_depths(depths: Mapping[str, Sequence[int]], lengths: Sequence[int]) -> Figure:
    """Draw the number of operations in a row over the sentence length, both on logarithmic scales."""
    fig, ax = new_figure(height=3.3)
    for (name, counts), (color, style, mark) in zip(depths.items(), cycle(LOOKS), strict=False):
        ax.plot(lengths, counts, color=color, linestyle=style, marker=mark, label=name, clip_on=False)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set(xlabel="words in the sentence", ylabel="operations in a row")
    ax.set_xticks(list(lengths), [f"{length}" for length in lengths])
    ax.set_yticks([10, 100, 1000, 10000], ["10", "100", "1,000", "10,000"])
    ax.minorticks_off()
    ax.legend(loc="upper left", handlelength=1.8)
    return fig
