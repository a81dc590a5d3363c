"""The drawings of what is counted in the chapter on cost and scale; `machine_figures` has the others."""

import math
from collections.abc import Mapping, Sequence

from jaxtyping import Bool
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from annotated_transformer.book.chapters.cost_and_scale.counting import shortest_path
from annotated_transformer.book.drawing.boxes import Box, draw_area, draw_line
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import label_ends, write
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, INK, MUTED, NEUTRAL, SECOND

Number = float | int


def draw_layer_costs(parts: Mapping[str, Number], *, growing: str, most: Number) -> Figure:
    """Draw the FLOPs of each part of a layer, in millions per token; the part that grows is dashed.

    `most` is where the axis ends, the same for all lengths.
    """
    fig, ax = new_figure(height=0.62 * len(parts) + 0.9)
    total = sum(parts.values())
    for place, (name, flops) in enumerate(parts.items()):
        color = SECOND if name == growing else FIRST
        style = "--" if name == growing else "-"
        shown = round(flops / 1e6, 2)
        ax.barh(place, shown, color=to_rgba(color, 0.45), edgecolor=color, ls=style, lw=1.5, height=0.4)
        write(ax, 0, place - 0.26, f"{name}: {flops / total:.0%}", "left", "bottom")
    ax.set(xlim=(0, most / 1e6), ylim=(len(parts) - 0.4, -0.95), yticks=[], xlabel="million FLOPs per token")
    ax.spines["left"].set_visible(False)  # the words begin there
    return fig


def draw_paths(panels: Mapping[str, Sequence[Bool[Tensor, "tokens tokens"]]]) -> Figure:
    """Draw, for each kind of layer, who reads whom, and the path from the first input to the last output."""
    paths = {
        name: shortest_path(patterns, start=0, end=len(patterns[0]) - 1) for name, patterns in panels.items()
    }
    high = max(len(path) for path in paths.values())
    step, rise = 56.0 / sum(len(patterns[0]) for patterns in panels.values()), 3.4
    fig, ax = new_canvas(64, rise * high + 5.5, width=WIDE)
    left = 2.0
    for name, patterns in panels.items():
        path, tokens = paths[name], len(patterns[0])
        for layer in range(len(path) - 1):
            for row, read in enumerate(patterns[layer % len(patterns)].tolist()):
                for place in (place for place, reads in enumerate(read) if reads):
                    ends = _at(left, step, rise, place, layer), _at(left, step, rise, row, layer + 1)
                    across, up = zip(*ends, strict=True)
                    ax.plot(across, up, color=NEUTRAL, lw=1.5, ls="-", marker="", alpha=0.35, zorder=1)
        for layer in range(len(path)):
            for place in range(tokens):
                _draw_dot(ax, *_at(left, step, rise, place, layer), lit=place == path[layer])
        across, up = zip(
            *(_at(left, step, rise, place, layer) for layer, place in enumerate(path)), strict=True
        )
        ax.plot(across, up, color=SECOND, lw=3, ls="-", marker="", zorder=3)
        steps = len(path) - 1
        words = f"{name}\n{steps} {'step' if steps == 1 else 'steps'}"
        write(ax, left + step * (tokens - 1) / 2, rise * len(path) + 0.2, words, height="bottom")
        left += step * (tokens + 0.6)
    return fig


def _at(left: float, step: float, rise: float, place: int, layer: int) -> tuple[float, float]:
    return left + step * place, 1.0 + rise * layer


def _draw_dot(ax: Axes, x: float, y: float, *, lit: bool) -> None:
    ax.plot(
        [x], [y], marker="o", ls="", markersize=6 if lit else 4, color=SECOND if lit else NEUTRAL, zorder=4
    )


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


def draw_spent(models: Mapping[str, tuple[Number, Number]]) -> Figure:
    """Draw, for each model, the FLOPs that its machines could have done, and those of its products."""
    fig, ax = new_figure(height=0.95 * len(models) + 0.7)
    for place, (name, (bought, used)) in enumerate(models.items()):
        ax.barh(place, 1, color="none", edgecolor=MUTED, ls="--", height=0.5)
        ax.barh(place, round(used / bought, 3), color=to_rgba(FIRST, 0.5), edgecolor=FIRST, height=0.5)
        words = f"{name}: {_power(used)} of {_power(bought)}, {used / bought:.0%}"
        write(ax, 0, place - 0.3, words, "left", "bottom")
    ax.set(xlim=(0, 1.02), ylim=(len(models) - 0.6, -0.8), xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    return fig


def _power(number: Number) -> str:
    """Return 3.28e18 as it is printed in a book."""
    digits, exponent = f"{number:.1e}".split("e")
    return f"{digits} · $10^{{{int(exponent)}}}$"


def draw_memory(parts: Mapping[str, Number], *, kept: Sequence[str]) -> Figure:
    """Draw the bytes of each part in GB; what the forward pass keeps for the backward pass is hatched."""
    fig, ax = new_figure(height=0.5 * len(parts) + 0.8)
    most = max(parts.values()) / 1e9
    for place, (name, size) in enumerate(parts.items()):
        color, hatch = (SECOND, "//") if name in kept else (FIRST, "")
        shown = round(size / 1e9, 2)
        ax.barh(place, shown, color=to_rgba(color, 0.4), edgecolor=color, hatch=hatch, height=0.7)
        write(ax, shown + 0.01 * most, place, f"{shown:.2f}", "left")
    ax.set(xlim=(0, 1.12 * most), ylim=(len(parts) - 0.5, -0.5), xlabel="GB")
    ax.set_yticks(range(len(parts)), list(parts))
    ax.tick_params(left=False)
    return fig


def draw_kept(lengths: Sequence[int], kept: Mapping[str, Sequence[Number]]) -> Figure:
    """Draw the MiB that attention keeps for the backward pass over the length, on logarithmic axes."""
    fig, ax = new_figure(height=2.8)
    for (name, sizes), (color, style) in zip(kept.items(), ((SECOND, "--"), (FIRST, "-")), strict=False):
        shown = [round(size / 2**20, 3) for size in sizes]
        ax.plot(lengths, shown, color=color, ls=style, marker="o", label=name)
    ax.set(xscale="log", yscale="log", xlabel="tokens $n$", ylabel="MiB kept")
    ax.set_xticks(lengths, [f"{length:,}" for length in lengths])
    ax.minorticks_off()
    label_ends(ax)
    return fig


def draw_pass(scores: Sequence[Number], block: int, done: int, state: Mapping[str, Number]) -> Figure:
    """Draw a row of scores in blocks, of which `done` have been read, and their exponentials.

    The exponentials are relative to the largest score so far; those of earlier blocks were, before the last
    one, as high as their dashed outlines.
    """
    fig, ax = new_canvas(40, 25)
    width, start = 36.0 / len(scores), block * (done - 1)
    largest, before = max(scores[: block * done]), max(scores[:start], default=-math.inf)
    for place, score in enumerate(scores):
        now, read = start <= place < start + block, place < start + block
        box, color = Box(2 + width * place, 18, width, 4), FIRST if now else NEUTRAL
        face = to_rgba(FIRST, 0.45) if now else "none"
        ax.add_patch(Rectangle(box[:2], width, 4, facecolor=face, edgecolor=color, lw=2 if now else 1))
        weight = "bold" if now else "normal"
        write(ax, *box.center, f"{score:g}", weight=weight, color=INK if now else MUTED)
        corner, wide = (box.x + 0.15 * width, 4.5), 0.7 * width
        if read:
            high = 9 * math.exp(score - largest)
            draw_area(ax, corner, wide, high, color, 0.45, lw=1.5)
        if read and not now:
            high = 9 * math.exp(score - before)
            ax.add_patch(Rectangle(corner, wide, high, fill=False, edgecolor=MUTED, ls="--", lw=1.2))
    write(ax, 2, 22.6, "scores of one query", "left", "bottom", color=MUTED)
    if start:
        words = f"$\\times\\,e^{{{before:g}-{largest:g}}} = {math.exp(before - largest):.2g}$"
        write(ax, 2 + width * start / 2, 14.2, words, height="bottom", weight="bold")
    draw_line(ax, (2, 4.5), (38, 4.5))
    for x, (name, value) in zip((2, 25), state.items(), strict=True):
        write(ax, x, 1.8, f"{name} = {value:.4g}", "left")
    return fig
