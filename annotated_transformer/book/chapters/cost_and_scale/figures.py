"""The drawings of what is counted in the chapter on cost and scale; `machine_figures` has the others."""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from annotated_transformer.book.drawing.boxes import Box, draw_area, draw_frame, draw_line
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import label_ends, name_rows, write, write_beside
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, INK, MUTED, NEUTRAL, SECOND

Number = float | int


def draw_layer_costs(costs: Mapping[int, Mapping[str, Number]], *, growing: str) -> Figure:
    """Draw the share of each part in the FLOPs of a layer over the length, the growing part on top.

    `costs` has the FLOPs for some lengths, the longest last. At each, the growing part's share is written.
    """
    fig, ax = new_figure(height=2.5)
    lengths = list(costs)
    dense = np.geomspace(lengths[0], lengths[-1], 90)
    per_token = {  # between the lengths, the costs per token are straight lines
        part: np.interp(dense, lengths, [flops[part] / n for n, flops in costs.items()])
        for part in sorted(costs[lengths[0]], key=growing.__eq__)
    }
    total, floor = sum(per_token.values()), np.zeros(len(dense))
    for part, sizes in per_token.items():
        top = np.round(floor + 100 * sizes / total, 1)
        color, hatch = (SECOND, "//") if part == growing else (FIRST, "")
        face = to_rgba(color, 0.35)
        ax.fill_between(dense, floor, top, facecolor=face, edgecolor=color, hatch=hatch, lw=1.5)
        if part != growing:
            write(ax, 1.15 * lengths[0], (floor[0] + top[0]) / 2, part, "left")
        floor = top
    for n, flops in costs.items():
        share = 100 * flops[growing] / sum(flops.values())
        ax.plot([n, n], [100 - share, 100], color=INK, ls=":", marker="", lw=1.2)
        side = "left" if n == lengths[0] else "right" if n == lengths[-1] else "center"
        write_beside(ax, (n, 100), (0, 5), f"{share:.0f}%", side, weight="bold")
    ax.set(xscale="log", xlim=(lengths[0], lengths[-1]), ylim=(0, 100))
    ax.set(xlabel="tokens in the text", ylabel="% of the FLOPs")
    ax.set_title(growing, loc="left", weight="normal", pad=24)
    ax.set_xticks(lengths, [f"{n:,}" for n in lengths])
    ax.minorticks_off()
    return fig


def draw_paths(words: Sequence[str], paths: Mapping[str, Sequence[int]]) -> Figure:
    """Draw, for each kind of layer, a path from the first word to the last, each step as an arc.

    A path has the positions on it; each step reads the word where its arc begins.
    """
    fig, ax = new_canvas(64, 12.6 * len(paths), width=WIDE)
    ends = list(accumulate(len(word) + 2.0 for word in words))
    spots = [16 + 46 * (end - len(word) / 2) / ends[-1] for end, word in zip(ends, words, strict=True)]
    for row, (name, path) in enumerate(paths.items()):
        base = 12.6 * (len(paths) - 1 - row) + 3.4
        steps = len(path) - 1
        write(ax, 0.5, base + 4.2, name, "left", weight="bold")
        write(ax, 0.5, base + 1.4, f"{steps} {'step' if steps == 1 else 'steps'}", "left", color=MUTED)
        for place, word in enumerate(words):
            on_path = place in path
            write(ax, spots[place], base - 2.2, word, color=INK if on_path else MUTED)
            ax.plot([spots[place]], [base], marker="o", ls="", markersize=7 if on_path else 4,
                    color=SECOND if on_path else NEUTRAL, zorder=3)  # fmt: skip
        for start, end in pairwise(path):
            x, reach = spots[start], spots[end] - spots[start]
            turns = [math.pi * part / 40 for part in range(41)]
            high = 1.6 + 5.8 * reach / (spots[-1] - spots[0])
            across = [x + reach * (1 - math.cos(turn)) / 2 for turn in turns]
            ax.plot(across, [base + high * math.sin(turn) for turn in turns], color=SECOND, lw=2.5, ls="-",
                    marker="")  # fmt: skip
    return fig


def draw_products(tokens: int, inputs: int, outputs: int) -> Figure:
    """Draw a linear layer's product in the forward pass, and the two of the backward pass, as matrices."""
    fig, ax = new_canvas(64, 36, width=WIDE)
    unit = 11.0 / max(tokens, inputs, outputs)
    names = {"x": (tokens, inputs), "W": (inputs, outputs), "y": (tokens, outputs)}
    rows = (
        ("forward", ("$x$", *names["x"]), ("$W$", *names["W"]), ("$y$", *names["y"])),
        ("backward", ("$dy$", *names["y"]), ("$W^\\top$", outputs, inputs), ("$dx$", *names["x"])),
        ("backward", ("$x^\\top$", inputs, tokens), ("$dy$", *names["y"]), ("$dW$", *names["W"])),
    )
    for place, (name, *matrices) in enumerate(rows):
        middle, x = 30.0 - 12 * place, 13.0
        write(ax, 1, middle, name, "left", color=MUTED)
        for sign, (label, down, across) in zip(("×", "=", ""), matrices, strict=True):
            box = Box(x, middle - unit * down / 2, unit * across, unit * down)
            color = SECOND if "d" in label else FIRST
            face, hatch = to_rgba(color, 0.3), "//" if "d" in label else ""
            ax.add_patch(
                Rectangle(box[:2], box.width, box.height, facecolor=face, edgecolor=color, hatch=hatch)
            )
            write(ax, x - 0.4, middle, label, "right")
            write(ax, x + box.width + 1.2, middle, sign)
            x += box.width + 6.4
        write(ax, 63, middle, "$2\\,n\\,d_1 d_2$", "right", color=MUTED)
    return fig


def draw_memory(parts: Mapping[str, Number], *, kept: Sequence[str]) -> Figure:
    """Draw the bytes of each part in GB; what the forward pass keeps for the backward pass is hatched."""
    fig, ax = new_figure(height=0.46 * len(parts) + 0.8)
    most = max(parts.values()) / 1e9
    for place, (name, size) in enumerate(parts.items()):
        color, hatch = (SECOND, "//") if name in kept else (FIRST, "")
        shown = round(size / 1e9, 2)
        ax.barh(place, shown, color=to_rgba(color, 0.4), edgecolor=color, hatch=hatch, height=0.72)
        write(ax, shown + 0.01 * most, place, f"{shown:.2f}", "left")
    ax.set(xlim=(0, 1.12 * most), ylim=(len(parts) - 0.5, -0.5), xlabel="GB")
    name_rows(ax, parts)
    return fig


def draw_kept(lengths: Sequence[int], kept: Mapping[str, Sequence[Number]]) -> Figure:
    """Draw the MiB that attention keeps for the backward pass over the length of the text."""
    fig, ax = new_figure(height=3.0)
    for (name, sizes), (color, style) in zip(kept.items(), ((SECOND, "--"), (FIRST, "-")), strict=True):
        shown = [round(size / 2**20, 3) for size in sizes]
        ax.plot(lengths, shown, color=color, ls=style, marker="o", label=f"{name}: {shown[-1]:.0f}")
    ax.set(xlim=(0, lengths[-1] * 1.02), ylim=(0, None), xlabel="tokens $n$", ylabel="MiB kept")
    ticks = [n for n in lengths if n >= lengths[-1] / 8]
    ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
    label_ends(ax)
    return fig


def draw_pass(scores: Sequence[Number], block: int) -> Figure:
    """Draw a pass over a row of scores, block by block: after each, the exponentials of all that were read.

    They are relative to the largest score so far; dashed: how high those of earlier blocks were before.
    """
    panels = -(-len(scores) // block)
    fig, ax = new_canvas(64, 30, width=WIDE)
    room = 64 / panels
    width = (room - 2.5) / len(scores)
    for panel in range(panels):
        left, start, end = panel * room + 1, panel * block, (panel + 1) * block
        largest, before = max(scores[:end]), max(scores[:start], default=-math.inf)
        for place, score in enumerate(scores):
            now, x = start <= place < end, left + width * place
            color = FIRST if now else NEUTRAL
            draw_area(ax, (x, 23), width, 3.6, color, 0.45 if now else 0.0, lw=1.5 if now else 1)
            write(ax, x + width / 2, 24.8, f"{score:g}", weight="bold" if now else "normal",
                  color=INK if place < end else MUTED)  # fmt: skip
            corner, wide = (x + 0.12 * width, 6.5), 0.76 * width
            if place < end:
                draw_area(ax, corner, wide, 12 * math.exp(score - largest), color, 0.45, lw=1.5)
            if place < start and before < largest:
                high = 12 * math.exp(score - before)
                draw_frame(ax, corner, wide, high, SECOND, ls="--", lw=1.5)
        if 0 < start and before < largest:
            words = f"$\\times\\,e^{{{before:g}-{largest:g}}}$"
            write(ax, left + width * start / 2, 19.3, words, height="bottom")
        draw_line(ax, (left, 6.5), (left + width * len(scores), 6.5))
        total = sum(math.exp(score - largest) for score in scores[:end])
        write(ax, left, 4.2, f"$m$ = {largest:g}", "left")
        write(ax, left, 1.5, f"$\\ell$ = {total:.3f}", "left")
        write(ax, left, 27.3, f"block {panel + 1}", "left", "bottom", color=MUTED)
    return fig
