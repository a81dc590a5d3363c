"""The plots of what chapter 22 measures: growth with depth, lengths, biases, caches, and whole stacks."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from torch import Tensor

from annotated_transformer.book.drawing.boxes import draw_area
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import draw_matrix, write_number
from annotated_transformer.book.drawing.words import label_ends, write
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, LOOKS, MUTED, NEUTRAL, SECOND

Runs = Sequence[Sequence[float]]  # the values of each seed at each place


def draw_growth(depths: Sequence[int], lines: Mapping[str, Runs]) -> Figure:
    """Draw the size of the stream over the number of sub-layers, the mean of the seeds of each line."""
    fig, ax = new_figure(height=2.8)
    for (name, runs), (color, style, _) in zip(lines.items(), LOOKS, strict=False):
        means = [round(sum(values) / len(values), 2) for values in zip(*runs, strict=True)]
        ax.plot(depths, means, color=color, ls=style, marker="", label=name, clip_on=False)
    ax.set(xlim=(0, depths[-1]), ylim=(0, None), xlabel="sub-layers", ylabel="RMS of the stream")
    label_ends(ax)
    return fig


def draw_lengths(lengths: Sequence[int], lines: Mapping[str, Runs], *, trained: int) -> Figure:
    """Draw the share of right answers over the length, a line per kind and a mark per seed.

    Lengths up to `trained` occurred in training; the rest of the axis is shaded.
    """
    fig, ax = new_figure(height=3.0)
    looks = (*LOOKS, (FIRST, ":", "v"), (SECOND, "-", "x"))
    places = range(len(lengths))
    for (name, runs), (color, style, mark) in zip(lines.items(), looks, strict=False):
        shown = [[round(value, 2) for value in values] for values in runs]
        means = [sum(values) / len(values) for values in zip(*shown, strict=True)]
        ax.plot(places, means, color=color, ls=style, marker="", label=name, clip_on=False)
        for values in shown:
            ax.plot(places, values, color=color, ls="", marker=mark, markersize=5, clip_on=False)
    ax.axvspan(lengths.index(trained), len(lengths) - 1, color=NEUTRAL, alpha=0.15, linewidth=0)
    write(ax, lengths.index(trained) + 0.08, 0.03, "longer than in training", "left", "bottom", color=MUTED)
    ax.set_xticks(list(places), [str(length) for length in lengths])
    ax.set(xlim=(0, len(lengths) - 1), ylim=(0, 1.04), xlabel="tokens", ylabel="right answers")
    ax.set_yticks([0, 0.5, 1], ["0", "½", "1"])
    label_ends(ax, gap=9)
    return fig


def draw_biases(
    bias: Float[Tensor, "queries keys"], weights: Mapping[str, Float[Tensor, "queries keys"]], row: int
) -> Figure:
    """Draw what is added to the scores, and the weights of a query with each mask if all scores are equal."""
    count = len(bias)
    high = max(3.0 * count, 9.0 * len(weights) - 5)
    fig, ax = new_canvas(64, high + 7, width=WIDE)
    pitch = (high + 5) / len(weights)
    size = 3.8, 3.0
    shown = [[write_number(value) for value in line] for line in bias.tolist()]
    draw_matrix(ax, 5.0, 3.2, shown, color=NEUTRAL, axes=("queries", "keys"), size=size)
    write(ax, 5 + 1.9 * count, 1.2, "added to the scores", weight="bold")
    x = 5 + 3.8 * count + 8
    for place, (name, each) in enumerate(weights.items()):
        y = high + 3.5 - pitch * (place + 0.5)
        write(ax, x, y + 4.4, f"{name}: query {row + 1} reads", "left")
        step = (63 - x) / count
        for key, weight in enumerate(each[row].tolist()):
            color = FIRST if weight > 0 else NEUTRAL
            draw_area(ax, (x + key * step, y - 0.6), 0.8 * step, 5.5 * weight, color, 0.5)
            write(ax, x + (key + 0.4) * step, y - 1.9, f"{weight:.2f}", color=MUTED, fontsize=12)
    return fig


def draw_caches(rows: Mapping[str, float], *, unit: str) -> Figure:
    """Draw one bar per way of attending, with its number."""
    fig, ax = new_figure(width=WIDE, height=0.42 * len(rows) + 0.4)
    most = max(rows.values())
    for place, value in enumerate(rows.values()):
        color, hatch = (SECOND, "///") if place == 0 else (FIRST, "")
        ax.barh(place, value, color=to_rgba(color, 0.45), edgecolor=color, hatch=hatch, height=0.7)
        write(ax, value + 0.01 * most, place, f"{value:,.4g} {unit}", "left")
    ax.set_yticks(range(len(rows)), list(rows))
    ax.set(xlim=(0, 1.2 * most), ylim=(len(rows) - 0.5, -0.5), xticks=[])
    ax.spines[:].set_visible(False)
    ax.tick_params(left=False)
    return fig


def draw_stacks(rows: Mapping[str, Sequence[float]], *, reference: str, label: str) -> Figure:
    """Draw a row per stack with a mark for each seed; a line marks the mean of the `reference`."""
    fig, ax = new_figure(width=WIDE, height=0.4 * len(rows) + 0.9)
    level = sum(rows[reference]) / len(rows[reference])
    ax.axvline(level, color=SECOND, lw=1.2, ls="--", marker="")
    for place, (name, values) in enumerate(rows.items()):
        color, mark = (SECOND, "s") if name == reference else (FIRST, "o")
        shown = [round(value, 3) for value in values]
        ax.plot([min(shown), max(shown)], [place, place], color=color, lw=1.5, ls="-", marker="")
        ax.plot(shown, [place] * len(shown), color=color, ls="", marker=mark, markersize=7, clip_on=False)
    ax.set(yticks=range(len(rows)), yticklabels=list(rows), ylim=(len(rows) - 0.5, -0.5), xlabel=label)
    ax.spines["left"].set_visible(False)
    ax.tick_params(left=False)
    return fig
