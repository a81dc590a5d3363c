"""The drawings of the chapter on the whole Transformer."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from annotated_transformer.book.drawing.add_and_norm import (
    draw_over,
    draw_plus,
    draw_stack_panel,
    write_shape,
)
from annotated_transformer.book.drawing.boxes import Box, draw_area, draw_arrow, draw_box, draw_line
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import Words, name_rows, write
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    DECODER,
    ENCODER,
    FIRST,
    INK,
    KEY_TEXT,
    NEUTRAL,
    OUTPUT,
    QUERY_TEXT,
    VALUE_TEXT,
)

SOURCE_SHAPE = r"$n_\mathrm{src} \times d_\mathrm{model}$"
TARGET_SHAPE = r"$n_\mathrm{tgt} \times d_\mathrm{model}$"

INPUT = 0.6  # from one input's letter to the next
INPUTS = {"Q": QUERY_TEXT, "K": KEY_TEXT, "V": VALUE_TEXT}


class Part(NamedTuple):
    """A sub-layer: its name, the shape inside, and which of Q, K and V an attention makes of the stream."""

    label: str
    inside: str
    inputs: str = ""


class Stack(NamedTuple):
    """A stack: its title and color, its ids and the shapes of these and of the stream, and its sub-layers."""

    title: str
    color: str
    ids: str
    shapes: tuple[str, str]
    parts: Sequence[Part]


SOURCE_STACK = Stack("Encoder", ENCODER, "source ids", (r"$n_\mathrm{src}$", SOURCE_SHAPE), (
    Part("self-attention", r"$h \times n_\mathrm{src} \times n_\mathrm{src}$", "QKV"),
    Part("feed-forward", r"$n_\mathrm{src} \times d_\mathrm{ff}$"),
))  # fmt: skip
TARGET_STACK = Stack("Decoder", DECODER, "target, shifted", (r"$n_\mathrm{tgt}$", TARGET_SHAPE), (
    Part("self-attention", r"$h \times n_\mathrm{tgt} \times n_\mathrm{tgt}$", "QKV"),
    Part("cross-attention", r"$h \times n_\mathrm{tgt} \times n_\mathrm{src}$", "Q"),
    Part("feed-forward", r"$n_\mathrm{tgt} \times d_\mathrm{ff}$"),
))  # fmt: skip


def draw_transformer() -> Figure:
    """Draw the whole model with the shape at each place: encoder at the left, decoder at the right."""
    fig, ax = new_canvas(14.0, 26.2)
    low = 5.6
    top = _draw_stack(ax, 0.15, low, SOURCE_STACK)
    z = draw_box(ax, 2.05, top + 1.5, 3.4, 1.0, "$z$", color=ENCODER)
    draw_arrow(ax, (3.75, top), z.bottom)
    write_shape(ax, 3.75, top + 0.75, SOURCE_SHAPE, -0.3)
    top = _draw_stack(ax, 7.3, low, TARGET_STACK, mirrored=True)  # K and V cross no residual connection
    cross = low + 4.05 + 2.2
    draw_line(ax, z.right, (6.95, z.right[1]), (6.95, cross))
    draw_arrow(ax, (6.95, cross), (7.5, cross))
    _write_inputs(ax, 5.85, z.right[1] + 0.45, "KV")
    linear = draw_box(ax, 7.3, top + 1.4, 5.0, 1.0, r"linear, $E^\top$", color=FIRST)
    softmax = draw_box(ax, 7.3, top + 3.9, 5.0, 1.0, "softmax", color=OUTPUT)
    draw_arrow(ax, (9.8, top), linear.bottom)
    write_shape(ax, 9.8, top + 0.75, TARGET_SHAPE)
    draw_arrow(ax, linear, softmax)
    write_shape(ax, 9.8, top + 3.15, r"$n_\mathrm{tgt} \times n_\mathrm{vocab}$")
    draw_arrow(ax, softmax.top, (softmax.top[0], softmax.top[1] + 0.9))
    write(ax, softmax.top[0], softmax.top[1] + 1.0, "probabilities", height="bottom", weight="bold")
    matrix = draw_box(ax, 0.15, softmax.y, 2.2, 1.0, "$E$", color=FIRST)
    write(ax, 2.65, matrix.center[1], "one matrix,\nused three times", "left")
    return fig


def _draw_stack(ax: Axes, x: float, low: float, stack: Stack, *, mirrored: bool = False) -> float:
    """Draw one stack from its ids to its result, its panel from `low` on, and return where the panel ends.

    The residual connections run at the left of the boxes, or at the right if `mirrored`.
    """
    pitch = 4.05
    left, middle, side = (x + 0.2, x + 2.5, x + 5.65) if mirrored else (x + 1.0, x + 3.6, x + 0.45)
    edge = left + 4.9 if mirrored else left
    outer, inner = (x + 0.3, "left"), (x + 5.8, "right")
    name, times = (inner, outer) if mirrored else (outer, inner)
    top = low + pitch * len(stack.parts) + 1.2
    draw_stack_panel(ax, Box(x, low, 6.1, top - low), stack.color, step=0.15)
    write(ax, name[0], top - 0.55, stack.title, name[1], weight="bold")
    write(ax, times[0], top - 0.55, r"$N\,\times$", times[1])
    words = draw_box(ax, middle - 2.6, 0.15, 5.2, 0.95, stack.ids)
    table = draw_box(ax, middle - 2.6, 2.05, 5.2, 0.95, r"embedding $E$", color=FIRST)
    draw_arrow(ax, words, table)
    write_shape(ax, middle, 1.57, stack.shapes[0])
    draw_line(ax, table.top, (middle, top))
    draw_plus(ax, (middle, 3.75))
    write(ax, middle - 0.6, 3.75, "positions", "right")
    write_shape(ax, middle, 4.85, stack.shapes[1])
    for place, part in enumerate(stack.parts):
        y = low + pitch * place
        draw_line(ax, (middle, y + 0.6), (side, y + 0.6), (side, y + 3.75))
        draw_arrow(ax, (side, y + 3.75), (edge, y + 3.75))
        start = middle - 0.4 - INPUT * (len(part.inputs) - 1) if mirrored else middle + 0.4
        _write_inputs(ax, start, y + 1.0, part.inputs)
        if mirrored and part.inputs == "QKV":
            write(ax, middle + 0.25, y + 1.0, "masked", "left")
        box = Box(left, y + 1.4, 4.9, 1.6)
        draw_over(ax, box, "", color=NEUTRAL, zorder=2.0)
        write(ax, box.center[0], box.y + 1.1, part.label, weight="bold", zorder=3)
        write(ax, box.center[0], box.y + 0.45, part.inside, zorder=3)
        draw_over(ax, Box(left, y + 3.3, 4.9, 0.9), "Add & Norm", color=NEUTRAL, zorder=2.0)
    return top


def _write_inputs(ax: Axes, x: float, y: float, names: str) -> None:
    """Write the names of queries, keys and values in their colors, from x on."""
    for place, name in enumerate(names):
        write(ax, x + INPUT * place, y, f"${name}$", color=INPUTS[name])


def draw_encoding_decoding(source: Words, target: Words) -> Figure:
    """Draw how one encoder pass serves all steps of the decoder: each step reads z and one more token."""
    steps = len(target)
    pitch = 1.75
    height = pitch * steps + 1.2
    fig, ax = new_canvas(14.0, height)
    write(ax, 0.15, height - 0.5, "once", "left", weight="bold")
    write(ax, 6.6, height - 0.5, f"{steps} times", "left", weight="bold")
    words = draw_box(ax, 0.15, 0.2, 3.9, 0.95, f"{len(source)} tokens", color=NEUTRAL)
    middle = pitch * steps / 2
    encoder = draw_box(ax, 0.15, middle - 0.9, 3.9, 1.8, "encoder", color=ENCODER)
    draw_arrow(ax, words, encoder)
    z = draw_box(ax, 0.15, pitch * steps - 1.15, 3.9, 1.0, "$z$", color=ENCODER)
    draw_arrow(ax, encoder, z)
    draw_line(ax, z.right, (4.6, z.right[1]), (4.6, 0.625), color=ENCODER)
    start = draw_box(ax, 11.2, height - 0.95, 2.65, 0.95, "<s>", color=NEUTRAL)
    draw_line(ax, start.left, (10.2, start.left[1]))
    draw_arrow(ax, (10.2, start.left[1]), (10.2, pitch * (steps - 1) + 1.1))
    for step, word in enumerate(target):
        y = pitch * (steps - 1 - step) + 0.15
        decoder = draw_box(ax, 6.6, y, 3.9, 0.95, "decoder", color=DECODER)
        draw_arrow(ax, (4.6, decoder.left[1]), decoder.left, color=ENCODER)
        out = draw_box(ax, 11.2, y, 2.65, 0.95, word, color=OUTPUT)
        draw_arrow(ax, decoder, out)
        if step + 1 < steps:  # each output becomes an input
            draw_line(ax, out.bottom, (out.bottom[0], y - 0.4), (10.2, y - 0.4))
            draw_arrow(ax, (10.2, y - 0.4), (10.2, y - 0.8))
    return fig


def draw_budget(parts: Mapping[str, Mapping[str, int]]) -> Figure:
    """Draw for each model how its parameters divide among its parts, in percent."""
    fig, _ = new_figure(len(parts), 1, height=2.6 * len(parts))
    for ax, (title, counts) in zip(fig.axes, parts.items(), strict=True):
        total = sum(counts.values())
        shares = [100 * count / total for count in counts.values()]
        ax.barh(range(len(counts)), shares, color=FIRST, edgecolor=INK, linewidth=0.6)
        for row, share in enumerate(shares):
            write(ax, share + 1, row, f"{share:.0f}%" if share >= 0.5 else "<1%", "left")
        name_rows(ax, counts)
        ax.set(ylim=(len(counts) - 0.5, -0.5), xlim=(0, 60), xticks=[])
        ax.set_title(title, loc="left")
        ax.spines["bottom"].set_visible(False)
    return fig


def draw_icicle(tree: Mapping[str, tuple[str, Mapping[str, int]]]) -> Figure:
    """Draw a whole, its parts, and their parts as bars whose widths are their numbers of parameters.

    Each part has a color and its own parts; a part with a single one of its own name is not divided.
    """
    total = sum(sum(parts.values()) for _, parts in tree.values())
    fig, ax = new_canvas(22.0, 8.6, width=WIDE)
    scale, x = 21.8 / total, 0.1

    def block(left: float, y: float, count: int, text: str, color: str, height: float = 2.0) -> None:
        width = count * scale
        draw_area(ax, (left, y), width, height, color, 0.3, lw=1.2)
        if width > 1.0:
            turned = 90 if width < 3.2 else 0
            write(ax, left + width / 2, y + height / 2, text, rotation=turned)

    block(x, 6.5, total, f"the whole model: {total / 1e6:.2f} million", NEUTRAL)
    for name, (color, parts) in tree.items():
        count, single = sum(parts.values()), len(parts) == 1
        low, height = (0.1, 6.2) if single else (4.2, 2.1)
        block(x, low, count, f"{name}\n{count / 1e6:.1f} million", color, height)
        left = x
        for part, size in parts.items() if not single else ():
            block(left, 0.1, size, f"{part}\n{size / 1e6:.1f}", color, 4.0)
            left += size * scale
        x += count * scale
    return fig


def draw_intervals(fits: Mapping[str, tuple[int, int]], size: int) -> Figure:
    """Draw for each model the vocabulary sizes that give its printed count, and which of them hold `size`."""
    fig, ax = new_figure(width=WIDE, height=0.29 * len(fits) + 1.1)
    for row, (low, high) in enumerate(fits.values()):
        color, hatch = (FIRST, "") if low <= size <= high else (NEUTRAL, "////")
        ax.barh(
            row, high - low, left=low, height=0.62, color=color, alpha=0.8, edgecolor=INK, lw=0.6, hatch=hatch
        )
    ax.axvline(size, color=INK, lw=2, ls="--", marker="")
    write(ax, size, -0.7, f"{size:,} tokens", height="bottom")
    names = [re.sub(r"d_(\w+)", r"$d_\\mathrm{\1}$", name) for name in fits]
    name_rows(ax, names)
    ax.set(xlim=(34_800, 44_200), ylim=(len(fits) - 0.4, -0.6))
    ax.set_xlabel("vocabulary sizes that give the printed count")
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.xaxis.set_major_formatter(lambda size, _: f"{size:,.0f}")
    return fig


def draw_losses(losses: Mapping[str, float], whole: float) -> Figure:
    """Draw the loss of a model after the removal of each part, and, as a line, that of the whole."""
    fig, ax = new_figure(height=0.45 * len(losses) + 0.9)
    most = 1.2 * max(losses.values())
    order = sorted(losses, key=lambda part: -losses[part])
    values = [losses[part] for part in order]
    ax.barh(range(len(order)), values, height=0.65, color=FIRST, alpha=0.75, edgecolor=INK, lw=0.6)
    for row, value in enumerate(values):
        write(ax, value + 0.02 * most, row, f"{value:.1f}", "left")
    ax.axvline(whole, color=INK, lw=2, ls="--", marker="")
    name_rows(ax, order)
    ax.set(xlim=(0, most), ylim=(len(order) - 0.5, -0.5), xlabel="loss (dashed: whole model)")
    ax.xaxis.set_major_locator(MaxNLocator(3, prune="upper"))
    return fig
