"""The drawings of differences in the chapter on comparing with PyTorch; `layouts` has those of weights."""

import math
from collections.abc import Mapping, Sequence
from itertools import chain, cycle

from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from annotated_transformer.book.chapters.the_same_as_pytorch.steps import first_above
from annotated_transformer.book.drawing.boxes import Box, draw_arrow, draw_box
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import label_ends, name_rows, write, write_beside
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, INK, LOOKS, MUTED, NEUTRAL, SECOND

LEAST = -17.0  # of a logarithm: smaller gaps, and none at all, are drawn there
POWERS = {-16: "$10^{-16}$", -8: "$10^{-8}$", 0: "$1$"}


def log_size(size: float) -> float:
    """Return the decimal logarithm of a gap, rounded for a drawing."""
    return round(max(LEAST, math.log10(size)), 1) if size > 0 else LEAST


def draw_steps(found: Mapping[str, float], *, tolerance: float) -> Figure:
    """Draw the gap after each step, the decoder's beside the others; those above the tolerance stand out."""
    first = first_above(found, tolerance)
    stacks = {
        name: {label: size for label, size in found.items() if label.startswith("decoder") == late}
        for name, late in (("encoder", False), ("decoder", True))
    }
    rows = max(map(len, stacks.values()))
    fig, axes = new_figure(1, 2, width=WIDE, height=0.18 * rows + 1.0)
    for ax, (name, steps) in zip(axes, stacks.items(), strict=True):
        ax.axvspan(LEAST - 0.7, log_size(tolerance), color=NEUTRAL, alpha=0.18, lw=0)
        for row, size in enumerate(steps.values()):
            color, mark = (SECOND, "s") if not size <= tolerance else (FIRST, "o")
            ax.plot([log_size(size)], [row], color=color, marker=mark, ls="", markersize=5, clip_on=False)
        ax.set(ylim=(rows - 0.4, -2.8), xlim=(LEAST - 0.7, 1))
        write(ax, (LEAST - 0.7 + log_size(tolerance)) / 2, -1.0, "rounding", color=MUTED)
        if first is None or first in steps:
            write(ax, 1.0, -2.2, "wrong from here" if first else "nothing wrong", "right", weight="bold")
        name_rows(ax, [label.removeprefix(f"{name} ").removeprefix(f"{name}: ") for label in steps])
        for tick, (label, size) in zip(ax.get_yticklabels(), steps.items(), strict=True):
            ink = INK if first is None or not size <= tolerance else MUTED
            tick.set(weight="bold" if label == first else "normal", color=ink)
        ax.set_title(name)
        ax.set(xticks=list(POWERS), xticklabels=list(POWERS.values()), xlabel="relative gap")
        ax.spines["left"].set_visible(False)
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
    fig, ax = new_figure(height=3.0)
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


def draw_detection(mistakes: Mapping[str, float], formats: Mapping[str, float]) -> Figure:
    """Draw the gap that each mistake makes, largest first, and the rounding of each format as a line."""
    fig, ax = new_figure(height=0.24 * len(mistakes) + 1.1)
    ordered = sorted(mistakes.items(), key=lambda item: -item[1])
    words = log_size(sorted(formats.values())[1]) - 0.4  # they end before the second line
    for row, (name, size) in enumerate(ordered):
        write(ax, words, row, name, "right")
        ax.plot([words + 0.2, log_size(size)], [row, row], color=NEUTRAL, ls="-", marker="", lw=0.8)
        ax.plot([log_size(size)], [row], color=SECOND, marker="s", ls="", markersize=7)
    for place, (name, size) in enumerate(formats.items()):
        color, style, _ = LOOKS[(0, 2, 3)[place % 3]]
        ax.plot([log_size(size)] * 2, [-0.6, len(mistakes) - 0.4], color=color, ls=style, marker="", lw=2)
        write(ax, log_size(size), -0.9, name, height="bottom")
    ax.set(ylim=(len(mistakes) - 0.3, -2.0), xlim=(LEAST, 0.6), yticks=[])
    ax.set(xticks=list(POWERS), xticklabels=list(POWERS.values()), xlabel="relative gap of the logits")
    ax.spines["left"].set_visible(False)
    return fig


def draw_ulps(counts: Mapping[str, Mapping[str, int]]) -> Figure:
    """Draw how many numbers moved by how many units in the last place, one row of bars for each cause."""
    fig, axes = new_figure(height=1.65 * len(counts) + 0.4, rows=len(counts))
    looks = (SECOND, "///"), (FIRST, "")
    for ax, (cause, bins), (color, hatch) in zip(axes, counts.items(), looks, strict=False):
        total = sum(bins.values())
        shares = [100 * count / total for count in bins.values()]
        ax.bar(range(len(bins)), shares, color=to_rgba(color, 0.45), edgecolor=color, hatch=hatch, width=0.8)
        ax.set(title=cause, xticks=range(len(bins)), xticklabels=list(bins))
        ax.set(ylabel="% of logits", ylim=(0, 100))
    axes[-1].set_xlabel("moved by (ulps)")
    return fig


def draw_gradients(copies: Mapping[str, Sequence[float]], *, tolerance: float) -> Figure:
    """Draw the gap of the gradient of each parameter, in the order of the model, for each copy."""
    fig, ax = new_figure(width=WIDE, height=2.8)
    for (name, sizes), (color, _, mark) in zip(copies.items(), cycle(LOOKS), strict=False):
        ax.plot(range(len(sizes)), [log_size(size) for size in sizes], color=color, marker=mark, ls="",
                markersize=4, label=name)  # fmt: skip
        middle = len(sizes) - 1, log_size(sorted(sizes)[len(sizes) // 2])
        write_beside(ax, middle, (10, 0), name, "left", "center", color=INK)
    ax.axhspan(LEAST - 0.5, log_size(tolerance), color=NEUTRAL, alpha=0.18, lw=0)
    ax.set(xticks=[], xlabel="parameters, from the embedding to the last layer", ylim=(LEAST - 0.5, 1))
    ax.set(yticks=list(POWERS), yticklabels=list(POWERS.values()), ylabel="gap")
    return fig


def draw_inside(found: Mapping[str, float], *, tolerance: float) -> Figure:
    """Draw the steps of one module, of which the last two use those before: which agree, and which do not."""
    fig, ax = new_canvas(46, 17)
    labels = list(found)
    before: list[Box] = []
    for place, column in enumerate(filter(None, (labels[:-2], labels[-2:-1], labels[-1:]))):
        boxes = []
        for row, label in enumerate(column):
            color, said = (FIRST, "agrees") if found[label] <= tolerance else (SECOND, "differs")
            y = 6.3 + 5.6 * ((len(column) - 1) / 2 - row)
            boxes.append(draw_box(ax, 0.5 + 16.5 * place, y, 12, 4.4, f"{label}\n{said}", color=color))
            for box in before:
                draw_arrow(ax, box.right, boxes[-1].left)
        before = boxes
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
