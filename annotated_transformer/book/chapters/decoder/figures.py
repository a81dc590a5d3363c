"""The drawings of the chapter on the decoder."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from textwrap import wrap

import torch
from jaxtyping import Bool
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from annotated_transformer.book.drawing.add_and_norm import (
    draw_add,
    draw_fork,
    draw_over,
    draw_plus,
    draw_stack_panel,
    draw_stream,
    write_shape,
)
from annotated_transformer.book.drawing.boxes import Box, draw_area, draw_arrow, draw_box, draw_frame
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.matrices import cell, draw_matrix, row
from annotated_transformer.book.drawing.words import Words, draw_tokens, label_ends, write
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    DECODER,
    ENCODER,
    FIRST,
    INK,
    KEY,
    LOOKS,
    MUTED,
    NEUTRAL,
    OUTPUT,
    QUERY,
    SECOND,
)

TARGET = r"$n_\mathrm{tgt} \times d_\mathrm{model}$"
SOURCE = r"$n_\mathrm{src} \times d_\mathrm{model}$"


def draw_step(
    tokens: Words, step: int, candidates: Mapping[str, float], *, source: str, source_tokens: int
) -> Figure:
    """Draw one step of decoding: the input tokens, the rows of the mask in use, and the output.

    `tokens` are all inputs of the decoder, `<s>` first; at `step`, the first `step` of them have been
    written. `candidates` are the most likely next tokens, the best first.
    """
    fig, ax = new_canvas(22.0, 10.6, width=WIDE)
    total, size = len(tokens), 6.3 / len(tokens)
    write(ax, 0.1, 10.1, f"Step {step}", "left", weight="bold")
    write(ax, 2.75, 10.1, "goes in (rows) and may be read (columns)", "left", color=MUTED)
    left, bottom, right = 2.75, 0.25, 11.9
    blank = [[""] * step for _ in range(step)]
    y = bottom + (total - step) * size
    mask = torch.ones(step, step, dtype=torch.bool).tril()
    draw_matrix(
        ax, left, y, blank, color=KEY, rows=tokens[:step], columns=tokens[:step], mask=mask,
        highlight=[row(step - 1)], size=(size, size),
    )  # fmt: skip
    draw_frame(ax, (left, bottom), total * size, total * size, NEUTRAL, ls=":", lw=1)
    first = 6.9
    draw_arrow(ax, (left + step * size, y + size / 2), (right - 0.2, first), color=QUERY)
    write(ax, right, first + 1.0, "comes out", "left", color=MUTED)
    for place, (word, probability) in enumerate(candidates.items()):
        height = first - place * 1.05
        spot, wide = (right, height - 0.35), max(0.05, 6.0 * probability)
        color, weight = (OUTPUT, "bold") if place == 0 else (NEUTRAL, "normal")
        draw_area(ax, spot, wide, 0.7, color, 0.5, edgecolor=INK, lw=0.6)
        write(ax, right + 0.1, height, f"{word}  {_percent(probability)}", "left", weight=weight)
    draw_box(ax, right, bottom, 21.8 - right, 3.3, "", color=ENCODER)
    lines = ["also goes in, at each step: $z$,", f"{source_tokens} source tokens of", *wrap(source, 24)]
    for place, line in enumerate(lines):
        style = "italic" if place > 1 else "normal"
        write(ax, right + 0.25, bottom + 2.8 - 0.75 * place, line, "left", style=style)
    return fig


def draw_decoder_block() -> Figure:
    """Draw the decoder from its input to the probabilities, one layer in full, beside the encoder's z."""
    fig, ax = new_canvas(14.0, 26.4)
    x, low, high = 10.1, 4.9, 21.5
    draw_stack_panel(ax, Box(3.4, low, 10.0, high - low), DECODER, step=0.2)
    write(ax, 3.7, high - 0.6, r"$N\,\times$", "left", fontsize=15)
    ids = draw_box(ax, x - 5.0, 0.15, 8.4, 0.95, "target ids, shifted right", color=NEUTRAL)
    table = draw_box(ax, x - 2.1, 1.95, 4.2, 0.95, "embedding", color=NEUTRAL)
    draw_arrow(ax, (x, ids.top[1]), table.bottom)
    write_shape(ax, x, 1.5, r"$n_\mathrm{tgt}$")
    draw_stream(ax, x, table.top[1], high + 1.25)
    places = draw_box(ax, 3.9, 3.3, 3.9, 0.95, "positions", color=NEUTRAL)
    draw_arrow(ax, places.right, (x - 0.45, places.right[1]))
    draw_plus(ax, (x, places.right[1]))
    write_shape(ax, x, 4.4, TARGET)
    encoder = draw_box(ax, 0.15, low + 0.6, 2.6, 3.2, "encoder", color=ENCODER)
    y = low + 0.2
    for label, inside, inputs in (
        ("self-attention", r"masked, $h \times n_\mathrm{tgt} \times n_\mathrm{tgt}$", ["$V$", "$K$", "$Q$"]),
        ("cross-attention", r"weights $h \times n_\mathrm{tgt} \times n_\mathrm{src}$", ["$Q$"]),
        ("feed-forward", r"inside $n_\mathrm{tgt} \times d_\mathrm{ff}$", [""]),
    ):
        box = _draw_sublayer(ax, x, y, label, inside, inputs)
        if label == "cross-attention":
            z = draw_box(ax, 0.3, box.y + 0.2, 2.3, 1.3, "$z$", color=ENCODER)
            write(ax, 0.1, z.y + 2.0, SOURCE, "left", color=MUTED)
            draw_arrow(ax, encoder, z)
            for shift, name in ((0.35, "$K$"), (-0.35, "$V$")):
                draw_arrow(ax, (2.6, z.left[1] + shift), (box.x, z.left[1] + shift))
                write(ax, 2.98, z.left[1] + 2.2 * shift, name)
        y += 5.35
    write_shape(ax, x, high + 0.83, TARGET)
    linear = draw_box(ax, x - 3.5, high + 1.25, 5.5, 0.95, "linear, softmax", color=OUTPUT)
    out = draw_box(ax, x - 7.1, high + 3.6, 9.9, 1.1, "probabilities of the next word", color=OUTPUT)
    draw_arrow(ax, (x, linear.top[1]), (x, out.y))
    write_shape(ax, x, high + 2.9, r"$n_\mathrm{tgt} \times$ vocab")
    return fig


def _draw_sublayer(ax: Axes, x: float, y: float, label: str, inside: str, inputs: Words) -> Box:
    """Draw a sub-layer at the left of the stream at `x`, with its Add & Norm, and return its box."""
    box = draw_box(ax, 3.65, y + 1.15, 5.8, 1.7, "")
    middle, end = box.center[0], y + 3.5
    write(ax, middle, box.y + 1.2, label, weight="bold")
    write(ax, middle, box.y + 0.5, inside, color=INK)
    draw_fork(ax, x, box, inputs, below=0.33)
    write(ax, middle - 0.25, end - 0.05, TARGET, "right", color=MUTED)
    draw_add(ax, box, (x, end))
    draw_over(ax, Box(x - 1.65, end + 0.75, 3.3, 0.95), "LayerNorm")
    write_shape(ax, x, y + 2.0, TARGET)
    return box


def draw_inputs_and_labels(targets: Sequence[Words]) -> Figure:
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
        write(ax, 0.1, y + pitch - 0.65, title, "left", weight="bold")
        draw_matrix(ax, 0.1, y + 0.15, targets, color=color, mask=mask, highlight=ends, size=size)
    return fig


def draw_recovery(lines: Mapping[str, Sequence[Sequence[float]]]) -> Figure:
    """Draw for each name several runs of a probability over the number of tokens since the replaced one."""
    fig, ax = new_figure(width=WIDE, height=3.0)
    for (name, runs), (color, style, mark) in zip(lines.items(), cycle(LOOKS), strict=False):
        for number, values in enumerate(runs):
            shown = [round(value, 2) for value in values]
            label = name if number == 0 else None
            ax.plot(range(1, len(values) + 1), shown, color=color, ls=style, marker=mark, lw=1.5, label=label)
    ax.set(xlabel="tokens after the replaced one", ylabel="probability", ylim=(0, 1))
    ax.set_xticks(range(1, 1 + max(len(values) for runs in lines.values() for values in runs)))
    ax.set_yticks([0, 0.5, 1], ["0", "½", "1"])
    label_ends(ax, gap=10)
    return fig


def draw_two_modes(target: Words, table: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw the predictions from the correct words, and below them those from the model's own words.

    `table` holds the probabilities of the next word after each beginning; `target` starts with `<s>`.
    """
    own = [target[0]]
    while own[-1] != "</s>" and " ".join(own) in table:
        choices = table[" ".join(own)]
        own.append(max(choices, key=lambda word: choices[word]))
    columns = max(len(target), len(own)) - 1
    fig, ax = new_canvas(22.0, 11.2, width=WIDE)
    pitch = 21.8 / columns
    for title, words, y, free in (
        ("Teacher forcing: the correct words go in, whatever comes out", target, 5.9, False),
        ("Free running: what comes out goes in next", own, 0.2, True),
    ):
        write(ax, 0.1, y + 4.7, title, "left", weight="bold")
        below = draw_tokens(ax, 0.1, y, words[:-1], width=0.7 * pitch, gap=0.3 * pitch, height=1.1)
        for place, box in enumerate(below):
            choices = table[" ".join(words[: place + 1])]
            word = max(choices, key=lambda each: choices[each])
            out = draw_box(ax, box.x, y + 2.8, box.width, 1.1, f"{word} {choices[word]:.2f}", color=OUTPUT)
            draw_arrow(ax, box, out)
            if not free and word != target[place + 1]:
                write(ax, box.right[0] + 0.1, y + 3.35, "≠", "left", fontsize=18)
            if free and place + 1 < len(below):
                after = below[place + 1]
                draw_arrow(ax, (out.right[0], out.y), (after.x, after.top[1]), color=OUTPUT)
    return fig


def draw_top_words(inputs: Words, tops: Sequence[Mapping[str, float]]) -> Figure:
    """Draw for each slot its input word, at the left, and the most likely next words as bars."""
    count = max(map(len, tops))
    fig, ax = new_canvas(22.0, 1.25 * len(inputs) + 1.3, width=WIDE)
    width = 17.6 / count
    top = 1.25 * len(inputs)
    write(ax, 0.1, top + 0.6, "goes in", "left", weight="bold")
    write(ax, 4.3, top + 0.6, "comes out, the likeliest first", "left", weight="bold")
    for number, (word, line) in enumerate(zip(inputs, tops, strict=True)):
        y = top - 1.25 * (number + 1) + 0.15
        box = draw_box(ax, 0.1, y, 3.3, 1.0, word, color=NEUTRAL)
        draw_arrow(ax, box.right, (4.2, box.right[1]))
        for place, (candidate, share) in enumerate(line.items()):
            x, wide = 4.3 + width * place, max(0.05, (width - 0.3) * share)
            color, weight = (OUTPUT, "bold") if place == 0 else (NEUTRAL, "normal")
            draw_area(ax, (x, y), wide, 1.0, color, 0.5, edgecolor="none")
            write(ax, x + 0.12, y + 0.5, f"{candidate} {_percent(share)}", "left", weight=weight)
    return fig


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%" if share >= 0.005 else "<1%"


def draw_leaks(grids: Mapping[str, Bool[Tensor, "rows slots"]], slot: int) -> Figure:
    """Draw for each title which rows change when a slot is replaced, with the column of one slot framed."""
    count = len(next(iter(grids.values())))
    size = 8.6 / count
    fig, ax = new_canvas(21.0, size * count + 3.2, width=WIDE)
    for place, (title, changed) in enumerate(grids.items()):
        x, y = 1.9 + 10.4 * place, 1.3
        for i, line in enumerate(changed.tolist()):
            for j, hit in enumerate(line):
                color, hatch = (SECOND, "xx") if j > i else (FIRST, None)
                face, share, hatch = (color, 0.6, hatch) if hit else (NEUTRAL, 0.08, None)
                corner = x + j * size, y + (count - 1 - i) * size
                draw_area(ax, corner, size, size, face, share, hatch=hatch, edgecolor=NEUTRAL, lw=0.7)
        draw_frame(ax, (x + slot * size, y), size, size * count, lw=2.5, zorder=5)
        write(ax, x, y + size * count + 1.2, title, "left", weight="bold")
        write(ax, x + (slot + 0.5) * size, 0.9, f"token {slot} replaced", height="top")
        if place == 0:
            write(ax, x - 0.3, y + size * count / 2, "predictions", "right", rotation=90)
        write(ax, x + size * count / 2, y + size * count + 0.15, "slots", height="bottom", color=MUTED)
    return fig
