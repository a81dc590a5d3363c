"""What the encoder's experiments found: contributions, averages, limits, and probes."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from annotated_transformer.book.drawing.boxes import Box, draw_arrow, draw_box, draw_weight
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import (
    Curves,
    Words,
    draw_tokens,
    draw_vector,
    label_ends,
    name_rows,
    space_out,
    write,
)
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import (
    ENCODER,
    FIRST,
    INK,
    LOOKS,
    MASKED,
    NEUTRAL,
    OUTPUT,
    SECOND,
)

Vectors = Float[Tensor, "words features"]


def draw_contributions(heads: Mapping[str, Curves], ratings: Mapping[str, int]) -> Figure:
    """Draw what each word of some reviews adds to a prediction, and the sum: heads across, reviews down."""
    longest = max(len(values) for reviews in heads.values() for values in reviews.values())
    fig, _ = new_figure(len(ratings), len(heads), width=WIDE, height=0.3 * (longest + 3) * len(ratings))
    ends = [abs(sum(parts)) for reviews in heads.values() for parts in reviews.values()]
    reach = 1.6 * max(*map(abs, ratings.values()), *ends)
    for across, (title, reviews) in enumerate(heads.items()):
        sums = [round(sum(values), 1) + 0.0 for values in reviews.values()]
        for down, (review, values) in enumerate(reviews.items()):
            ax, words = fig.axes[len(heads) * down + across], review.split()
            _draw_parts(ax, values, sums[down], ratings[review])
            name_rows(ax, [*words, "sum"], shown=across == 0)
            ax.set(xlim=(-reach, reach), ylim=(len(words) + 0.6, -1.6))
            if down == 0:
                ax.set_title(title, loc="left")
            if down == 1 and len(set(sums)) == 1:
                write(ax, reach, len(words) - 1.2, "same sum,\nother order", "right", color=INK)
    return fig


def _draw_parts(ax: Axes, values: Sequence[float], total: float, rating: int) -> None:
    for place, value in enumerate([*values, total]):
        last = place == len(values)
        color = OUTPUT if last else FIRST if value > 0 else SECOND
        hatch = "///" if value < 0 else ""
        ax.barh(place, value, height=0.7, color=color, alpha=0.75, edgecolor=INK, lw=0.6, hatch=hatch)
    side, text = (-1, "right") if total >= 0 else (1, "left")
    write(ax, 0.15 * side, len(values), f"{total:.1f}".replace("-", "−"), text, weight="bold")
    ax.axvline(0, color=INK, lw=0.8, ls="-", marker="")
    ax.plot([rating] * 2, [-0.5, len(values) + 0.5], color=INK, lw=2, ls=":", marker="")
    write(ax, rating, -0.6, f"rating {rating}".replace("-", "−"), height="bottom")
    ax.set_xticks([])
    ax.spines[["left", "bottom"]].set_visible(False)


def draw_mixing(
    words: Words, x: Vectors, weights: Float[Tensor, "queries keys"], a: Vectors, z: Vectors
) -> Figure:
    """Draw a layer as three rows of vectors: attention links all words, the network each with itself."""
    fig, ax = new_canvas(20.0, 10.4, width=WIDE)
    pitch = 16.4 / len(words)
    width = min(0.34, 0.8 * pitch / x.size(1))
    left = [3.6 + pitch * place for place in range(len(words))]
    draw_tokens(ax, left[0], 0.1, words, width=0.85 * pitch, gap=0.15 * pitch)
    rows = [
        [draw_vector(ax, start, y, line, color=NEUTRAL, size=(width, 0.7), upright=False)
         for start, line in zip(left, as_shares(vectors), strict=True)]
        for y, vectors in ((1.7, x), (5.3, a), (9.1, z))
    ]  # fmt: skip
    for query, line in enumerate(weights.tolist()):
        for key, weight in enumerate(line):
            draw_weight(ax, rows[0][key].top, rows[1][query].bottom, weight)
    for start, end in zip(rows[1], rows[2], strict=True):
        box = Box(start.center[0] - 0.75, 6.95, 1.5, 0.95)
        draw_box(ax, *box, "FFN", color=ENCODER)
        draw_arrow(ax, start, box)
        draw_arrow(ax, box, end)
    for y, name in ((2.05, "$x$"), (5.65, "$a$"), (9.45, "$z$")):
        write(ax, 2.9, y, name, "right", fontsize=16)
    for y, text in ((3.85, "attention:\nacross words"), (7.45, "network:\neach word\nby itself")):
        write(ax, 0.1, y, text, "left", color=INK)
    return fig


def as_shares(vectors: Vectors) -> list[list[float]]:
    """Return numbers as shares of their range, from 0 for the lowest to 1 for the highest."""
    low, high = vectors.min(), vectors.max()
    return ((vectors - low) / (high - low).clamp(min=1e-9)).tolist()


def draw_limits(limits: Mapping[str, float], reached: Curves) -> Figure:
    """Draw the errors that no head of a kind can have, hatched, and the errors that trained heads have.

    `limits` are the lowest possible errors, `reached` those of trained heads; rows keep their order.
    """
    names = list(dict.fromkeys([*limits, *reached]))
    fig, ax = new_figure(width=WIDE, height=0.62 * len(names) + 0.7)
    most = 1.12 * max(*limits.values(), *(value for values in reached.values() for value in values))
    for row, name in enumerate(names):
        color, mark = (SECOND, "s") if name in limits else (FIRST, "o")
        if (limit := limits.get(name)) is not None:
            ax.barh(row, limit, height=0.7, color="none", edgecolor=MASKED, hatch="////", lw=0)
            ax.plot([limit] * 2, [row - 0.35, row + 0.35], color=INK, lw=3, ls="-", marker="")
            write(ax, limit + 0.18, row, f"{limit:.1f}", "left")
        values = [round(value, 2) for value in reached.get(name, ())]
        if values:
            ax.plot(values, [row] * len(values), color=color, ls="", marker=mark, ms=9, clip_on=False)
        if values and name in limits:
            write(ax, min(values) - 0.2, row, f"{min(values):.1f} or more", "right")
        elif values:
            write(ax, max(values) + 0.2, row, f"reached: {max(values):.2f} or less", "left", weight="bold")
    name_rows(ax, names)
    ax.set(ylim=(len(names) - 0.5, -0.5), xlim=(0, most))
    ax.set_xlabel("squared error of the rating (hatched: impossible)")
    ax.tick_params(axis="y", pad=10)
    return fig


def draw_groups(depths: Mapping[str, Float[Tensor, "points 2"]], groups: Words) -> Figure:
    """Draw points in a plane at some depths, one panel each, with each group's name at its middle."""
    fig, axes = new_figure(1, len(depths), width=WIDE, height=2.75)
    names = list(dict.fromkeys(groups))
    looks = (LOOKS[0], LOOKS[1], LOOKS[3])
    for ax, (title, points) in zip(axes, depths.items(), strict=True):
        reach = points.abs().max().item()
        together = reach < 1e-6
        reach = 1.15 * max(reach, 1e-6)
        parts = [points[torch.tensor([each == name for each in groups])] for name in names]
        at = space_out([part[:, 0].mean().item() for part in parts], 0.6 * reach)
        for name, part, x, (color, _, mark) in zip(names, parts, at, looks, strict=True):
            look = {"color": color, "marker": mark, "ls": "", "mec": INK, "mew": 0.5}
            ax.plot(*part.div(reach).T.mul(1e3).round().div(1e3).tolist(), **look)
            if not together:
                ax.plot([x / reach - 0.2], [-1.25], **look)
                write(ax, x / reach - 0.08, -1.25, name, "left")
        if together:
            write(ax, 0, 0.15, f"the same point\n{len(points)} times", height="bottom")
        ax.set(xlim=(-1, 1), ylim=(-1.45, 1))
        ax.set_title(title, loc="left")
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set(visible=True, color=NEUTRAL)
    return fig


def draw_probes(panels: Mapping[str, Curves], *, labels: Words) -> Figure:
    """Draw how well a linear map finds each label at each depth, in one panel for each stack."""
    fig, _ = new_figure(1, len(panels), width=WIDE, height=3.0)
    for ax, (title, lines) in zip(fig.axes, panels.items(), strict=True):
        for (name, values), (color, style, mark) in zip(lines.items(), cycle(LOOKS), strict=False):
            shown = [round(value, 2) for value in values]
            ax.plot(range(len(values)), shown, color=color, ls=style, marker=mark, clip_on=False, label=name)
        ax.set_title(title, loc="left")
        ax.set(ylim=(0, 1.05), xlim=(0, len(labels) - 1), xlabel="layers passed")
        ax.set(xticks=range(len(labels)), xticklabels=labels, yticks=[0, 0.5, 1], yticklabels=["0", "½", "1"])
    fig.draw_without_rendering()
    label_ends(fig.axes[-1], gap=10)
    return fig
