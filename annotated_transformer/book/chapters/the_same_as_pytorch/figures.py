"""The drawings of differences in the chapter on comparing with PyTorch; `layouts` has those of weights."""

import math
from collections.abc import Mapping, Sequence
from itertools import chain, cycle

import torch
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from annotated_transformer.book.chapters.the_same_as_pytorch.steps import first_above
from annotated_transformer.book.drawing.boxes import draw_arrow
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import label_ends, name_rows, write, write_beside
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, INK, LOOKS, MUTED, NEUTRAL, PAPER, SECOND

LEAST = -17.0  # of a logarithm: smaller gaps, and none at all, are drawn there
SHORT = {  # of the names of steps, so that they fit below the marks
    "embedding + positions": "input",
    "self-attention": "self",
    "cross-attention": "cross",
    "feed-forward": "FFN",
    "final norm": "final",
}
POWERS = {-16: "$10^{-16}$", -8: "$10^{-8}$", 0: "$1$"}


def log_size(size: float) -> float:
    """Return the decimal logarithm of a gap, rounded for a drawing."""
    return round(max(LEAST, math.log10(size)), 1) if size > 0 else LEAST


def draw_steps(found: Mapping[str, float], *, tolerance: float) -> Figure:
    """Draw the gap after each step, in the order of computation; the first above the tolerance is named."""
    first, labels = first_above(found, tolerance), list(found)
    sizes = [log_size(size) for size in found.values()]
    fig, ax = new_figure(width=WIDE, height=2.9)
    end = len(labels) - 0.4
    names = [label.rpartition(": ")[2] for label in labels]
    ax.axhspan(LEAST, log_size(tolerance), color=NEUTRAL, alpha=0.18, lw=0)
    write(ax, end - 0.2, log_size(tolerance) - 0.8, "rounding", "right", color=MUTED)
    ax.plot(range(len(labels)), sizes, color=NEUTRAL, ls="-", lw=1.2, marker="")
    for place, (label, size) in enumerate(zip(labels, sizes, strict=True)):
        inside = found[label] <= tolerance
        mark = {"color": FIRST, "marker": "o"} if inside else {"color": SECOND, "marker": "s"}
        ax.plot([place], [size], ls="", markersize=12 if label == first else 6, **mark)
        layer = label.partition(":")[0]
        if names[place] == "self-attention":  # a layer begins
            ax.axvline(place - 0.5, color=NEUTRAL, lw=0.8, ls="-", marker="")
            write(ax, place - 0.3, 2.6, layer, "left")
    if first is None:
        write(ax, end / 2, -7, "no step lies outside", weight="bold")
    else:
        place = labels.index(first)
        side, shift = ("right", -1.0) if place > len(labels) / 2 else ("left", 1.0)
        if not math.isnan(found[first]):
            draw_arrow(ax, (place + shift, sizes[place] - 3.6), (place + shift / 3, sizes[place] - 0.6))
        words = "first outside:\n" + first.replace(": ", ",\n")
        look = {"weight": "bold", "bbox": {"facecolor": PAPER, "edgecolor": "none", "pad": 2}}
        write(ax, place + shift, sizes[place] - 3.9, words, side, "top", **look)
    ax.set(xlim=(-0.6, end), ylim=(LEAST, 3.4), ylabel="relative gap")
    ax.set(yticks=list(POWERS), yticklabels=list(POWERS.values()))
    ax.set_xticks(range(len(labels)), [SHORT.get(name, name) for name in names], rotation=90)
    return fig


def draw_spacing(numbers: Sequence[float | int], example: float | int, *, rounded: float | int) -> Figure:
    """Draw all numbers of a small format on a line, how far apart they are, and how one more is rounded."""
    fig, ax = new_canvas(64, 17, width=WIDE)
    low, high = numbers[0], numbers[-1]

    def at(number: float | int) -> float:
        return 3 + 58 * (number - low) / (high - low)

    ax.plot([at(low), at(high)], [5, 5], color=INK, lw=1.5, ls="-", marker="")
    for number in numbers:
        whole = math.log2(number) % 1 == 0
        tall, thick = (1.6, 2.5) if whole else (0.9, 1.5)
        ax.plot([at(number)] * 2, [5 - tall, 5 + tall], color=INK, lw=thick, ls="-", marker="")
        if whole:
            write(ax, at(number), 2.6, f"{number:g}", height="top")
    start = low
    while start < high:
        step = next(number for number in numbers if number > start) - start
        write(ax, at(1.5 * start), 8.2, f"{step:g} apart", color=MUTED)
        ax.plot([at(start) + 0.4, at(2 * start) - 0.4], [7.2, 7.2], color=MUTED, lw=1.2, ls="-", marker="")
        start *= 2
    ax.plot([at(example)], [13], color=FIRST, marker="o", ls="", markersize=7)
    write(ax, at(example) + 1.2, 13.2, f"{example:g} becomes {rounded:g}", "left")
    draw_arrow(ax, (at(example), 12.4), (at(rounded), 6.3), color=FIRST)
    return fig


def draw_sums(lengths: Sequence[int], curves: Mapping[str, Sequence[float]]) -> Figure:
    """Draw the error of sums over their length, both on a logarithmic axis; the first curve is a bound."""
    fig, ax = new_figure(width=WIDE, height=3.0)
    looks = chain([(NEUTRAL, ":", "")], cycle(LOOKS))
    across = [math.log2(length) for length in lengths]
    for (name, errors), (color, style, mark) in zip(curves.items(), looks, strict=False):
        ax.plot(across, [log_size(e) for e in errors], color=color, ls=style, marker=mark, label=name)
    ax.set(xlabel="numbers in the sum", ylabel="relative error")
    shown = across[:: max(1, len(across) // 3)]
    ax.set_xticks(shown, [f"{2 ** round(a):,}" for a in shown])
    bottom, top = (edge(tick for tick in ax.get_ylim()) for edge in (min, max))
    ticks = range(math.ceil(bottom), math.floor(top) + 1)
    ax.set_yticks(list(ticks), [f"$10^{{{tick}}}$" for tick in ticks])
    label_ends(ax)
    return fig


def draw_differences(formats: Mapping[str, tuple[Tensor, Tensor]]) -> Figure:
    """Draw by how much numbers of a size changed, typically and at most, for each format."""
    fig, ax = new_figure(width=WIDE, height=3.4)
    edges = torch.logspace(-2, 1, 13, dtype=torch.float64)
    across = [log_size(edge) + 0.125 for edge in edges[:-1].tolist()]
    for (name, (sizes, changes)), (color, _, mark) in zip(formats.items(), LOOKS, strict=False):
        groups = torch.bucketize(sizes, edges) - 1
        half, most = (
            [log_size(changes[groups == group].quantile(share).item()) for group in range(len(across))]
            for share in (0.5, 1.0)
        )
        ax.fill_between(across, half, most, color=color, alpha=0.25, lw=0)
        ax.plot(across, half, color=color, marker=mark, ls="-", markersize=4)
        write_beside(ax, (across[-1], most[-1]), (0, 6), name, "right", "bottom", weight="bold")
        unit = log_size(torch.finfo(getattr(torch, name)).eps / 2)
        ax.plot(across, [place + unit for place in across], color=INK, ls=":", lw=1.5, marker="")
        write_beside(ax, (across[2], across[2] + unit), (6, -4), "unit roundoff × size", "left", "top")
    ax.set(xticks=[-2, -1, 0, 1], xticklabels=["0.01", "0.1", "1", "10"], xlabel="size of the logit")
    ax.set(yticks=list(range(-18, -4, 3)), ylabel="change")
    ax.set_yticklabels([f"$10^{{{tick}}}$" for tick in range(-18, -4, 3)])
    return fig


def draw_detection(mistakes: Mapping[str, float], formats: Mapping[str, float]) -> Figure:
    """Draw the gap that each mistake makes, largest first, and the rounding of each format as a line."""
    fig, ax = new_figure(width=WIDE, height=0.24 * len(mistakes) + 1.3)
    ordered = dict(sorted(mistakes.items(), key=lambda item: -item[1]))
    coarsest = log_size(max(formats.values()))
    ax.axvspan(LEAST, coarsest, color=NEUTRAL, alpha=0.18, lw=0)
    for row, size in enumerate(map(log_size, ordered.values())):
        ax.plot([LEAST, size], [row, row], color=NEUTRAL, ls="-", marker="", lw=0.8)
        ax.plot([size], [row], color=SECOND, marker="s", ls="", markersize=7)
    for place, (name, gap) in enumerate(formats.items()):
        color, style, _ = LOOKS[(0, 2, 3)[place % 3]]
        ax.plot([log_size(gap)] * 2, [-0.6, len(mistakes) - 0.4], color=color, ls=style, marker="", lw=2)
        write(ax, log_size(gap), -0.9, name, height="bottom")
    name_rows(ax, ordered)
    ax.set(ylim=(len(mistakes) - 0.3, -2.2), xlim=(LEAST, 0.6))
    ax.set(xticks=list(POWERS), xticklabels=list(POWERS.values()), xlabel="relative gap of the logits")
    ax.spines["left"].set_visible(False)
    return fig


def draw_grid(rows: Mapping[str, Sequence[bool]], columns: Sequence[str], *, groups: Sequence[int]) -> Figure:
    """Draw which check notices which mistake, and how many each notices; lines set off groups of columns."""
    width, height, left, above = 4.2, 2.2, 24.0, 15.5
    fig, ax = new_canvas(left + width * len(columns) + 1, height * (len(rows) + 1.4) + above, width=WIDE)
    top = height * (len(rows) + 1.4)
    for column, name in enumerate(columns):
        x = left + width * (column + 0.5)
        write(ax, x, top + 0.6, name, height="bottom", rotation=90)
        count = sum(caught[column] for caught in rows.values())
        write(ax, x, 0.8, str(count), weight="bold")
    write(ax, left - 0.8, 0.8, f"noticed, of {len(rows)}", "right", weight="bold")
    for row, (name, caught) in enumerate(rows.items()):
        y = top - height * (row + 1)
        write(ax, left - 0.8, y + height / 2, name, "right")
        for column, hit in enumerate(caught):
            corner, face = (left + width * column, y), to_rgba(FIRST, 0.5) if hit else "none"
            ax.add_patch(Rectangle(corner, width, height, facecolor=face, edgecolor=NEUTRAL, lw=0.7))
            write(ax, corner[0] + width / 2, y + height / 2, "✓" * hit, weight="bold")
    place = 0
    for group in groups:
        place += group
        x = left + width * place
        ax.plot([x, x], [0, top + above], color=INK, lw=1.5, ls="-", marker="")
    return fig
