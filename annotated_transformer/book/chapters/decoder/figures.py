"""The drawings of the chapter on the decoder."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from annotated_transformer.book.drawing.add_and_norm import (
    draw_add,
    draw_fork,
    draw_over,
    draw_plus,
    draw_stack_panel,
    draw_stream,
    write_shape,
)
from annotated_transformer.book.drawing.boxes import Box, draw_arrow, draw_box
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import cell, draw_matrix, row
from annotated_transformer.plotting.palette import (
    DECODER,
    ENCODER,
    INK,
    KEY,
    LOOKS,
    MUTED,
    NEUTRAL,
    OUTPUT,
    QUERY,
    VALUE,
)

WIDE = r"$n_\mathrm{tgt} \times d_\mathrm{model}$"
SOURCE = r"$n_\mathrm{src} \times d_\mathrm{model}$"


def draw_step(
    tokens: Sequence[str], step: int, candidates: Mapping[str, float], *, source: str, source_tokens: int
) -> Figure:
    """Draw one step of decoding: the input tokens, the rows of the mask in use, and the output.

    `tokens` are all inputs of the decoder, `<s>` first; at `step`, the first `step` of them have been
    written. `candidates` are the most likely next tokens, the best first.
    """
    fig, ax = new_canvas(14.0, 14.8)
    total, size = len(tokens), 0.7
    ax.text(0.1, 14.3, f"Step {step}", ha="left", va="center", weight="bold")
    ax.text(0.1, 13.5, "goes in (rows) and may be read (columns)", ha="left", va="center", color=MUTED)
    left, bottom = 2.75, 4.4
    blank = [[""] * step for _ in range(step)]
    y = bottom + (total - step) * size
    mask = torch.ones(step, step, dtype=torch.bool).tril()
    draw_matrix(
        ax, left, y, blank, color=KEY, rows=tokens[:step], columns=tokens[:step], mask=mask,
        highlight=[row(step - 1)], size=(size, size),
    )  # fmt: skip
    whole = Rectangle((left, bottom), total * size, total * size, fill=False, edgecolor=NEUTRAL, ls=":", lw=1)
    ax.add_patch(whole)
    end = left + step * size
    draw_arrow(ax, (end, y + size / 2), (9.75, y + size / 2), color=QUERY)
    ax.text(9.9, y + size / 2 + 1.0, "comes out", ha="left", va="center", color=MUTED)
    for place, (word, probability) in enumerate(candidates.items()):
        height = y + size / 2 - place * 1.05
        bar = {"facecolor": to_rgba(OUTPUT if place == 0 else NEUTRAL, 0.5), "edgecolor": INK, "lw": 0.6}
        ax.add_patch(Rectangle((9.9, height - 0.35), max(0.05, 4.0 * probability), 0.7, **bar))  # type: ignore[arg-type]
        weight = "bold" if place == 0 else "normal"
        percent = f"{100 * probability:.0f}" if probability >= 0.005 else "<1"
        ax.text(10.0, height, f"{word}  {percent}%", ha="left", va="center", weight=weight)
    draw_box(ax, 0.1, 0.2, 13.8, 1.9, "", color=ENCODER)
    ax.text(
        0.35, 1.6, f"also goes in, at each step: $z$, {source_tokens} source tokens", ha="left", va="center"
    )
    ax.text(0.35, 0.75, source, ha="left", va="center", style="italic")
    return fig


def draw_decoder_block() -> Figure:
    """Draw the decoder from its input to the probabilities, one layer in full, beside the encoder's z."""
    fig, ax = new_canvas(14.0, 26.4)
    x, low, high = 10.1, 4.9, 21.5
    draw_stack_panel(ax, Box(3.4, low, 10.0, high - low), DECODER, step=0.2)
    ax.text(3.7, high - 0.6, r"$N\,\times$", ha="left", va="center", fontsize=15)
    ids = draw_box(ax, x - 5.0, 0.15, 8.4, 0.95, "target ids, shifted right", color=NEUTRAL)
    table = draw_box(ax, x - 2.1, 1.95, 4.2, 0.95, "embedding", color=NEUTRAL)
    draw_arrow(ax, (x, ids.top[1]), table.bottom)
    write_shape(ax, x, 1.5, r"$n_\mathrm{tgt}$")
    draw_stream(ax, x, table.top[1], high + 1.25)
    places = draw_box(ax, 3.9, 3.3, 3.9, 0.95, "positions", color=NEUTRAL)
    draw_arrow(ax, places.right, (x - 0.45, places.right[1]))
    draw_plus(ax, (x, places.right[1]))
    write_shape(ax, x, 4.4, WIDE)
    encoder = draw_box(ax, 0.15, low + 0.6, 2.6, 3.2, "encoder", color=ENCODER)
    y = low + 0.2
    for label, inside, color, inputs in (
        (
            "self-attention",
            r"masked, $h \times n_\mathrm{tgt} \times n_\mathrm{tgt}$",
            VALUE,
            ["$V$", "$K$", "$Q$"],
        ),
        ("cross-attention", r"weights $h \times n_\mathrm{tgt} \times n_\mathrm{src}$", VALUE, ["$Q$"]),
        ("feed-forward", r"inside $n_\mathrm{tgt} \times d_\mathrm{ff}$", QUERY, [""]),
    ):
        box = _draw_sublayer(ax, x, y, label, inside, color, inputs)
        if label == "cross-attention":
            z = draw_box(ax, 0.3, box.y + 0.2, 2.3, 1.3, "$z$", color=KEY)
            ax.text(0.1, z.y + 2.0, SOURCE, ha="left", va="center", color=MUTED)
            draw_arrow(ax, encoder, z)
            for shift, name in ((0.35, "$K$"), (-0.35, "$V$")):
                draw_arrow(ax, (2.6, z.left[1] + shift), (box.x, z.left[1] + shift), color=KEY)
                ax.text(2.98, z.left[1] + 2.2 * shift, name, ha="center", va="center")
        y += 5.35
    write_shape(ax, x, high + 0.83, WIDE)
    linear = draw_box(ax, x - 3.5, high + 1.25, 5.5, 0.95, "linear, softmax", color=OUTPUT)
    out = draw_box(ax, x - 7.1, high + 3.6, 9.9, 1.1, "probabilities of the next word", color=OUTPUT)
    draw_arrow(ax, (x, linear.top[1]), (x, out.y))
    write_shape(ax, x, high + 2.9, r"$n_\mathrm{tgt} \times$ vocab")
    return fig


def _draw_sublayer(
    ax: Axes, x: float, y: float, label: str, inside: str, color: str, inputs: Sequence[str]
) -> Box:
    """Draw a sub-layer at the left of the stream at `x`, with its Add & Norm, and return its box."""
    box = draw_box(ax, 3.65, y + 1.15, 5.8, 1.7, "", color=color)
    middle, end = box.center[0], y + 3.5
    ax.text(middle, box.y + 1.2, label, ha="center", va="center", weight="bold")
    ax.text(middle, box.y + 0.5, inside, ha="center", va="center", color=INK)
    draw_fork(ax, x, box, inputs, below=0.33)
    ax.text(middle + 0.3, end + 0.1, WIDE, ha="left", va="bottom", color=MUTED)
    draw_add(ax, box, (x, end))
    draw_over(ax, Box(x - 1.65, end + 0.75, 3.3, 0.95), "LayerNorm")
    write_shape(ax, x, y + 2.0, WIDE)
    return box


def draw_inputs_and_labels(targets: Sequence[Sequence[str]]) -> Figure:
    """Draw a padded batch of targets twice: without its last column as input, without its first as labels."""
    count, width = len(targets), len(targets[0])
    size = (13.8 / width, 0.95)
    pitch = count * 0.95 + 1.5
    fig, ax = new_canvas(14.0, 2 * pitch)
    inputs = torch.ones(count, width, dtype=torch.bool)
    labels = inputs.clone()
    inputs[:, -1] = labels[:, 0] = False
    ends = [cell(i, j) for i, line in enumerate(targets) for j, word in enumerate(line) if word == "</s>"]
    for title, mask, color, y in (
        ("labels: tgt[:, 1:]", labels, OUTPUT, pitch),
        ("decoder input: tgt[:, :-1]", inputs, KEY, 0.0),
    ):
        ax.text(0.1, y + pitch - 0.65, title, ha="left", va="center", weight="bold")
        draw_matrix(ax, 0.1, y + 0.15, targets, color=color, mask=mask, highlight=ends, size=size)
    return fig


def draw_recovery(lines: Mapping[str, Sequence[Sequence[float]]]) -> Figure:
    """Draw for each name several runs of a probability over the number of tokens since the replaced one."""
    fig, ax = new_figure(height=3.3)
    for (name, runs), (color, style, mark) in zip(lines.items(), cycle(LOOKS), strict=False):
        for number, values in enumerate(runs):
            shown = [round(value, 2) for value in values]
            label = name if number == 0 else None
            ax.plot(range(1, len(values) + 1), shown, color=color, ls=style, marker=mark, lw=1.5, label=label)
    ax.set(xlabel="tokens after the replaced one", ylabel="probability", ylim=(0, 1))
    ax.set_xticks(range(1, 1 + max(len(values) for runs in lines.values() for values in runs)))
    ax.set_yticks([0, 0.5, 1], ["0", "½", "1"])
    ax.legend(loc="lower right")
    return fig
