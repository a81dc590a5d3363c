"""The drawings of the searches in the chapter on decoding; `step_figures` has those of single steps."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from annotated_transformer.book.drawing.boxes import Box, draw_arrow, draw_line
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import label_ends, write, write_beside
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, INK, LOOKS, MUTED, NEUTRAL, PAPER, SECOND

Table = Mapping[str, Mapping[str, float]]  # the next words of each text so far, with their probabilities
Step = tuple[Mapping[str, float], Sequence[str]]  # all continuations with their probabilities, and those kept
Prefix = tuple[str, float, float]  # a text, where its part of the bar begins, and its share of the whole

LINES = (LOOKS[0], LOOKS[1], LOOKS[3])  # two penalties, and none
# Of the tree, in tenths of an inch: distances, and a word's box.
ROW, COLUMN, WORD, HIGH = 5.0, 10.9, 7.6, 4.5
LOOK = {  # of a text that a search kept, or dropped, or did not compute
    "kept": {"edgecolor": FIRST, "facecolor": to_rgba(FIRST, 0.3), "lw": 2.0, "ls": "-"},
    "dropped": {"edgecolor": MUTED, "facecolor": "none", "lw": 1.2, "ls": "--"},
    "not reached": {"edgecolor": "none", "facecolor": "none"},
}


def draw_tree(table: Table, steps: Sequence[Step], *, end: str) -> Figure:
    """Draw all texts of a table as a tree, and what a search kept and dropped.

    A column is a step of the search. What was dropped is struck through, what was not reached is grey, and
    the text that the search returns has a thick frame.
    """
    nodes = _nodes(table, "", end)
    leaves = [text for text in nodes if text.endswith(end)]
    depth = max(len(leaf.split()) for leaf in leaves)
    fig, ax = new_canvas(64, ROW * len(leaves) + 2.6, width=WIDE)
    computed = {text: share for continued, _ in steps for text, share in continued.items()}
    kept = {text for _, chosen in steps for text in chosen}
    best = max((text for text in kept if text.endswith(end)), key=computed.__getitem__, default=None)
    boxes = {"": Box(0.6, _height("", leaves), 0.0, HIGH)}
    for number in range(depth):
        write(ax, 3.3 + COLUMN * number + WORD / 2, ROW * len(leaves) + 1.4, f"step {number + 1}")
    for text in nodes:
        words = text.split()
        kind = "kept" if text in kept else "dropped" if text in computed else "not reached"
        x, y = 3.3 + COLUMN * (len(words) - 1), _height(text, leaves)
        boxes[text] = Box(x, y, WORD, HIGH)
        line = {"kept": (FIRST, "-", 2.5), "dropped": (MUTED, "--", 1.2)}.get(kind, (NEUTRAL, ":", 1.2))
        across, up = zip(boxes[" ".join(words[:-1])].right, boxes[text].left, strict=True)
        ax.plot(across, up, marker="", color=line[0], ls=line[1], lw=line[2], zorder=0)
        share = f"{computed[text]:.3f}".rstrip("0") if text in computed else ""
        _draw_word(ax, boxes[text], "end" if words[-1] == end else words[-1], share, kind)
        if text == best:
            ax.add_patch(Rectangle((x, y), WORD, HIGH, fill=False, edgecolor=INK, lw=3))
            write(ax, x + WORD + 0.7, y + HIGH / 2, "returned", "left", weight="bold")
    return fig


def _draw_word(ax: Axes, box: Box, word: str, share: str, kind: str) -> None:
    """Draw a word, and below it the probability of the text up to it."""
    ax.add_patch(Rectangle((box.x, box.y), box.width, box.height, **LOOK[kind]))  # type: ignore[arg-type]
    ink, weight = (INK, "bold") if kind == "kept" else (MUTED, "normal")
    x, middle = box.center
    write(ax, x, middle + bool(share), word, color=ink, weight=weight)
    write(ax, x, middle - 1.1, share, color=ink, weight=weight)
    if kind == "dropped":
        half = 0.5 * len(word) + 0.3
        draw_line(ax, (x - half, middle + bool(share)), (x + half, middle + bool(share)), color=MUTED)


def _nodes(table: Table, text: str, end: str) -> list[str]:
    """Return all continuations of a text, each after the one that it continues."""
    if text.endswith(end):
        return []
    continued = [f"{text} {word}".strip() for word in table.get(text, {end: 1.0})]
    return [node for child in continued for node in (child, *_nodes(table, child, end))]


def _height(text: str, leaves: Sequence[str]) -> float:
    below = [row for row, leaf in enumerate(leaves) if f"{leaf} ".startswith(f"{text} ".lstrip())]
    return ROW * (len(leaves) - 1 - sum(below) / len(below)) + 0.3


def draw_crossing(
    alphas: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    equal: float,
    *,
    marked: Mapping[str, float],
) -> Figure:
    """Draw what two texts get over the exponent of the penalty, where they cross, and some exponents."""
    fig, ax = new_figure(height=3.0)
    low, high = (find(map(find, curves.values())) for find in (min, max))
    ax.set(xlim=(0, alphas[-1]), ylim=(low - 0.05, high + 0.12))
    for (name, values), (color, style, _) in zip(curves.items(), LINES, strict=False):
        ax.plot(
            alphas, [round(value, 3) for value in values], color=color, ls=style, marker="", label=name, lw=3
        )
    for name, alpha in marked.items():
        ax.axvline(alpha, color=NEUTRAL, lw=1, ls=":", marker="")
        write(ax, alpha + 0.02, high + 0.1, name, "left", "top", color=MUTED)
    spot = equal, round(float(np.interp(equal, alphas, next(iter(curves.values())))), 3)
    ax.plot(*spot, color=INK, marker="o", ls="", markersize=8)
    write_beside(ax, spot, (8, -14), f"equal at α = {equal:.2f}", weight="bold")
    ax.set(
        xticks=[0, 0.5, 1], xlabel="exponent α of the penalty", ylabel="$\\log\\,p\\,/\\,lp(L)$: higher wins"
    )
    label_ends(ax)
    return fig


def draw_prefixes(table: Table, found: float, *, end: str) -> Figure:
    """Draw the prefixes of each length as parts of a bar, as wide as they are likely.

    Those that are more likely than the text `found` are filled; at the right is how many these are.
    """
    rows: list[list[Prefix]] = []  # of each length
    level = [("", 0.0, 1.0)]
    while level := list(_continued(table, level, end)):
        rows.append(level)
    fig, ax = new_canvas(64, 4 * len(rows) + 5, width=WIDE)
    left, width = 8.0, 45.0
    for length, prefixes in enumerate(rows):
        y = 4.0 * (len(rows) - 1 - length) + 0.3
        write(ax, left - 1, y + 1.6, f"length {length + 1}", "right", color=MUTED)
        for text, start, share in prefixes:
            wins = share > found + 1e-9
            face, edge, lw = (to_rgba(FIRST, 0.45), FIRST, 1.5) if wins else ("none", NEUTRAL, 0.8)
            box = Box(left + width * start, y, width * share, 3.2)
            ax.add_patch(Rectangle(box[:2], box.width, 3.2, facecolor=face, edgecolor=edge, lw=lw))
            word = "end" if text.endswith(end) else text.split()[-1]
            if len(word) + 0.6 < box.width:
                write(ax, *box.center, word, color=INK if wins else MUTED)
        count = sum(share > found + 1e-9 for _, _, share in prefixes)
        write(ax, left + width + 1, y + 1.6, f"{count} can win", "left")
    top = 4.0 * len(rows) + 1.0
    draw_arrow(ax, (left, top), (left + width * found, top))
    draw_arrow(ax, (left + width * found, top), (left, top))
    said = f"$p^\\star$ = {found:g}: what is narrower than this can't win"
    write(ax, left + width * found + 1, top, said, "left")
    return fig


def _continued(table: Table, level: Sequence[Prefix], end: str) -> Iterator[Prefix]:
    """Yield the continuations of some prefixes, each with where it begins and its share of the whole."""
    for text, start, share in level:
        if not text.endswith(end):
            for word, part in table.get(text, {end: 1.0}).items():
                yield f"{text} {word}".strip(), start, share * part
                start += share * part


def draw_exit(columns: Sequence[Sequence[str]]) -> Figure:
    """Draw all ways through some columns of words, one of them lit, and the short way from start to end."""
    count, rows = len(columns), len(columns[0])
    step = 50.0 / count
    fig, ax = new_canvas(64, 3.2 * rows + 9, width=WIDE)
    middle, end = 1.6 * rows + 3.0, 58.0
    path = [(5.5, middle)]
    for place, words in enumerate(columns):
        for row, word in enumerate(words):
            x, y = 7 + step * (place + 0.5), middle + 3.2 * ((rows - 1) / 2 - row)
            lit = row == (2 * place + 1) % rows
            if lit:
                path += [(x - 0.4 * step, y), (x + 0.4 * step, y)]
            face, edge, lw = (to_rgba(FIRST, 0.3), FIRST, 2) if lit else ("none", NEUTRAL, 0.8)
            corner = x - 0.4 * step, y - 1.3
            ax.add_patch(Rectangle(corner, 0.8 * step, 2.6, facecolor=PAPER, edgecolor="none"))
            ax.add_patch(Rectangle(corner, 0.8 * step, 2.6, facecolor=face, edgecolor=edge, lw=lw))
            write(ax, x, y, word, weight="bold" if lit else "normal")
    ax.plot(*zip(*path, (end, middle), strict=True), color=FIRST, lw=3, ls="-", marker="", zorder=0)
    write(ax, 5, middle, "start", "right")
    write(ax, end + 0.5, middle, "end", "left")
    ways = rows**count
    write(ax, 32, 1.2, f"{ways:,} right ways, equally likely: at most 1/{ways:,} = {1 / ways:.2g} for each")
    top = 3.2 * rows + 4.5
    ax.plot([2.5, 2.5, end + 2], [middle + 1.2, top, top], color=SECOND, lw=3, ls="--", marker="")
    draw_arrow(ax, (end + 2, top), (end + 2, middle + 1.2), color=SECOND)
    write(ax, 32, top + 1.8, "the empty output, which ends at once")
    return fig


def draw_outputs(
    lines: Mapping[str, Sequence[float]], others: Sequence[Sequence[float]], *, beams: Sequence[int]
) -> Figure:
    """Draw the shares of two kinds of outputs over the beam size, and in grey the first kind otherwise."""
    fig, ax = new_figure(height=3.0)
    for shares in others:
        shown = [round(100 * share) for share in shares]
        ax.plot(range(len(beams)), shown, color=NEUTRAL, ls="-", marker="", lw=4, alpha=0.6, clip_on=False)
    ax.set_ylim(0, 120)
    for (word, shares), (color, style, mark) in zip(lines.items(), LOOKS, strict=False):
        shown = [round(100 * share) for share in shares]
        ax.plot(range(len(beams)), shown, color=color, ls=style, marker=mark, label=word, lw=3, clip_on=False)
    label_ends(ax)
    write(ax, len(beams) - 1, 105, "right, in the controls", "right", "bottom", color=MUTED)
    ax.set_xticks(range(len(beams)), [str(beam) for beam in beams])
    ax.set(yticks=[0, 50, 100], ylabel="percent of the outputs", xlabel="beam size")
    return fig


def draw_lengths(rows: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Figure:
    """Draw how long the translations are over the beam size, a line for each length penalty."""
    fig, ax = new_figure(height=3.0)
    ax.set(xlim=(0, len(rows) - 1), ylim=(89, 101))
    for (key, name), (color, style, mark) in zip(names.items(), LINES, strict=False):
        shown = [round(100 * row["length_ratio"][key], 1) for row in rows]
        ax.plot(range(len(rows)), shown, color=color, ls=style, marker=mark, label=name, lw=3, clip_on=False)
    ax.axhline(100, color=INK, lw=1, ls="-", marker="")
    write(ax, 0.05, 99.8, "as long as the references", "left", "top", color=MUTED)
    ax.set_xticks(range(len(rows)), [str(row["beam"]) for row in rows])
    ax.set(yticks=[90, 95, 100], xlabel="beam size", ylabel="length, % of references")
    label_ends(ax)
    return fig
