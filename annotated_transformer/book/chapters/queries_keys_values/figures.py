"""The drawings of the chapter on queries, keys and values."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from annotated_transformer.book.drawing.boxes import draw_area, draw_arrow, draw_box, draw_weight
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import write_number
from annotated_transformer.book.drawing.words import name_rows, write
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    FIRST,
    INK,
    KEY,
    KEY_TEXT,
    MUTED,
    NEUTRAL,
    OUTPUT,
    PAPER,
    QUERY,
    SECOND,
    VALUE,
)

SIDE = 4  # cells of a picture, down and across
CELL = (3.4, 1.75)
LEAST = 0.005  # thinner lines are left out
Number = float | int
Lookup = tuple[str, Sequence[Number], Sequence[tuple[str, str]], str]


def draw_scene(
    roles: Sequence[str],
    words: Sequence[str],
    weights: Sequence[Number] | None,
    lines: Mapping[str, Sequence[str]],
) -> Figure:
    """Draw the cells of a picture, filled by their weights, and below it captions, word by word.

    A cell has its word in bold and its role under it, none for the background. `lines` maps the name of a
    caption to its words, the first of which is the start.
    """
    width, height = CELL
    bottom = 1.55 * len(lines) + 0.45
    fig, ax = new_canvas(14.0, bottom + SIDE * height + 0.2)
    for number, (role, word) in enumerate(zip(roles, words, strict=True)):
        row, column = divmod(number, SIDE)
        corner = 0.2 + column * width, bottom + (SIDE - 1 - row) * height
        weight = 0.0 if weights is None else round(weights[number], 2)
        found = role != "background"
        draw_area(ax, corner, width, height, VALUE, 0.4 * weight, edgecolor=NEUTRAL, linewidth=1)
        center = corner[0] + width / 2, corner[1] + height / 2
        place = center[0], center[1] + (0.36 if found else 0.0)
        write(ax, *place, word, weight="bold" if found else "normal", color=INK)
        if found:
            write(ax, center[0], center[1] - 0.45, role, color=KEY_TEXT)
        if weight > 0.5:
            ax.add_patch(Rectangle(corner, width, height, fill=False, edgecolor=VALUE, linewidth=3, zorder=3))
    for number, (name, said) in enumerate(lines.items()):
        _draw_caption(ax, bottom - 1.5 - 1.55 * number, name, said)
    return fig


def _draw_caption(ax: Axes, y: float, name: str, said: Sequence[str]) -> None:
    """Draw the words of a caption in boxes, an arrow from each to the next; the name stands before it."""
    left = 0.2
    if name:
        write(ax, left, y + 0.5, name, "left", color=MUTED)
        left = 3.9
    step = 13.8 - left
    step /= max(4, len(said))
    before = None
    for number, word in enumerate(said):
        color = QUERY if number == len(said) - 1 and not name else OUTPUT if number else NEUTRAL
        box = draw_box(ax, left + number * step, y, step - 0.45, 1.0, word, color=color)
        if before is not None:
            draw_arrow(ax, before, box)
        before = box


def draw_dictionaries(panels: Mapping[str, Lookup]) -> Figure:
    """Draw several lookups below each other, by title: a query, weights, key–value pairs, and an output.

    Lines from the query to the keys and from the values to the output are as wide as the weights.
    """
    step = 1.25
    heights = [step * len(entries) + 1.75 for _, _, entries, _ in panels.values()]
    fig, ax = new_canvas(14.0, sum(heights) + 1.1)
    top = sum(heights)
    for x, name, color in ((1.45, "query", QUERY), (5.6, "key", KEY), (8.2, "value", VALUE)):
        write(ax, x, top + 0.5, name, weight="bold", color=INK)
        ax.plot([x - 1.0, x + 1.0], [top + 0.08] * 2, color=color, lw=3, ls="-", marker="")
    write(ax, 12.5, top + 0.5, "output", weight="bold", color=INK)
    ax.plot([11.5, 13.5], [top + 0.08] * 2, color=OUTPUT, lw=3, ls="-", marker="")
    for (title, panel), height in zip(panels.items(), heights, strict=True):
        query, weights, entries, output = panel
        write(ax, 0.2, top - 0.75, title, "left", weight="bold", color=INK)
        middle = top - 1.25 - step * len(entries) / 2
        asks = draw_box(ax, 0.2, middle - 0.5, 2.5, 1.0, query, color=QUERY)
        result = draw_box(ax, 11.3, middle - 0.5, 2.5, 1.0, output, color=OUTPUT)
        for number, (weight, (key, value)) in enumerate(zip(weights, entries, strict=True)):
            y = top - 1.25 - step * (number + 1) + 0.12
            left = draw_box(ax, 4.4, y, 2.5, 1.0, key, color=KEY)
            right = draw_box(ax, 6.9, y, 2.5, 1.0, value, color=VALUE)
            if weight >= LEAST:
                draw_weight(ax, asks.right, left.left, weight, color=QUERY)
                draw_weight(ax, right.right, result.left, weight)
            place = 9.55, right.center[1] + 0.3
            plate = {"boxstyle": "square,pad=0.05", "facecolor": PAPER, "edgecolor": "none"}
            write(ax, *place, write_number(round(weight, 2)), "left", "bottom", color=MUTED, bbox=plate)
        top -= height
        if top > 0.5:
            ax.plot([0.2, 13.8], [top - 0.1] * 2, color=NEUTRAL, lw=0.8, ls="-", marker="")
    return fig


def draw_smoother(
    keys: Sequence[Number], values: Sequence[Number], queries: Sequence[Number], answers: Sequence[Number]
) -> Figure:
    """Draw what a soft dictionary answers to each query, as a curve, and its entries as points."""
    fig, ax = new_figure(width=WIDE, height=3.1)
    answers = [round(answer, 1) for answer in answers]
    ax.plot(queries, answers, color=OUTPUT, linestyle="-", marker="")
    ax.plot(keys, values, color=VALUE, linestyle="", marker="o", markersize=9)
    ax.set(xlabel="query, hour of the day", ylabel="answer, °C", ylim=(8, 24), xticks=list(keys))
    ax.set_yticks([10, 15, 20])
    return fig


def draw_transfer(
    shares: Mapping[str, Mapping[str, Sequence[Number]]], examples: Mapping[str, str], *, chance: float
) -> Figure:
    """Draw shares of right words: a panel per training, a bar per test, a mark per seed."""
    fig, axes = new_figure(1, len(shares), width=WIDE, height=3.1)
    for ax, (title, tests), (color, hatch) in zip(
        axes, shares.items(), ((FIRST, None), (SECOND, "////")), strict=True
    ):
        for row, values in enumerate(tests.values()):
            mean = sum(values) / len(values)
            ax.barh(row, mean, 0.55, facecolor=color if hatch is None else "none", edgecolor=color,
                    hatch=hatch, alpha=0.6)  # fmt: skip
            ax.plot([round(v, 2) for v in values], [row] * len(values), color=INK, ls="", marker="|",
                    markersize=14, clip_on=False)  # fmt: skip
            write(ax, 1.05, row, f"{mean:.0%}", "left", weight="bold")
        ax.plot([chance] * 2, [-0.5, len(tests) - 0.5], color=MUTED, lw=1, ls=":", marker="")
        names = [f"{name}\n{examples[name]}" for name in tests] if ax is axes[0] else []
        name_rows(ax, names)
        ax.set(xlim=(0, 1.3), ylim=(len(tests) - 0.4, -0.6))
        ax.set_xticks([0, chance, 1], ["0", "⅓", "1"])
        ax.set_title(title, loc="left", weight="normal")
        ax.spines["left"].set_visible(False)
    return fig
