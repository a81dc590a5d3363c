"""The drawings of what was measured in the chapter on cost and scale: a machine, bits, and losses."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from annotated_transformer.book.chapters.cost_and_scale.power_law import PowerLaw
from annotated_transformer.book.drawing.boxes import draw_tip
from annotated_transformer.book.drawing.figures import new_figure
from annotated_transformer.book.drawing.words import write, write_beside
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, INK, LOOKS, MUTED, PAPER, SECOND

Number = float | int
PLACES = {  # of a name beside its point, in points to the right and up
    "LayerNorm": (8, -2, "left"), "scores, 32": (9, -5, "left"), "scores, 512": (-8, -6, "right"),
    "linear, 4": (7, -9, "left"), "linear, 16": (8, 2, "left"), "linear, 64": (7, -9, "left"),
    "linear, 256": (-4, -14, "center"), "linear, 1024": (8, -14, "center"),
}  # fmt: skip


class Roof(NamedTuple):
    """The two limits of a machine, both per second."""

    flops: float
    bytes: float


def roof_of(result: Mapping[str, Any]) -> Roof:
    """Return the most FLOPs and the most bytes per second that anything in a measurement reached."""
    points = result["points"].values()
    products, vectors = (result["flops_per_second"], result["by_onednn"]), (result["bytes_per_second"],)
    return Roof(
        max(*products, *(point["flops"] / point["seconds"] for point in points)),
        max(*vectors, *(point["bytes"] / point["seconds"] for point in points)),
    )


def draw_roofline(result: Mapping[str, Any]) -> Figure:
    """Draw the operations per second of each point over its operations per byte, below the two limits."""
    fig, ax = new_figure(width=WIDE, height=4.6)
    roof, slope = (limit / 1e9 for limit in roof_of(result))
    ends = (0.05, 400.0)
    ax.plot(
        [ends[0], roof / slope, ends[1]], [ends[0] * slope, roof, roof], color=INK, ls="-", marker="", lw=2
    )
    write(ax, ends[1], 1.12 * roof, "limit: arithmetic", "right", "bottom")
    write(ax, 1.15 * ends[0], 16, "limit: memory", "left", "bottom")
    for name, point in result["points"].items():
        kind, _, size = name.partition(", ")
        color, mark = (SECOND, "s") if kind == "linear" else (FIRST, "o")
        x, y = point["flops"] / point["bytes"], point["flops"] / point["seconds"] / 1e9
        ax.plot([x], [y], marker=mark, ls="", color=color, markersize=7)
        right, up, side = PLACES.get(name, (6, -12, "left"))
        words = f"linear, {size} row" if name == "linear, 1" else size if kind == "linear" else name
        write_beside(ax, (x, y), (right, up), words, side, "center", color=MUTED)
    ax.set(xscale="log", yscale="log", xlim=(ends[0], 1.5 * ends[1]), ylim=(1, 1.7 * roof),
           xlabel="FLOPs per byte", ylabel="billion FLOPs per second")  # fmt: skip
    return fig


def draw_bits(
    bits: Sequence[int],
    errors: Mapping[str, Sequence[Number]],
    same: Mapping[str, Sequence[int]],
    texts: int,
) -> Figure:
    """Draw the error of the logits over the bits of the weights, and how many translations stay the same."""
    fig, (left, right) = new_figure(1, 2, width=WIDE, height=3.3)
    for name, (color, style, mark) in zip(errors, LOOKS, strict=False):
        shown = [round(100 * error, 2) for error in errors[name]]
        for ax, values in ((left, shown), (right, same[name])):
            ax.plot(bits, values, color=color, ls=style, marker=mark, label=name, clip_on=False)
    left.set(yscale="log", title="error of the logits, %")
    left.set_yticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
    right.set(ylim=(0, texts * 1.03), yticks=range(0, texts + 1, 4), title=f"same translations, of {texts}")
    for ax in (left, right):
        ax.set_title(ax.get_title(), weight="normal")
        ax.set(xlim=(max(bits), min(bits)), xticks=bits, xlabel="bits of a weight")
        ax.minorticks_off()
    right.legend(loc="lower left")
    return fig


def draw_law(losses: Mapping[int, Sequence[Number]], law: PowerLaw, *, fitted: int) -> Figure:
    """Draw the losses of all seeds over the number of weights, and the law fitted to the first sizes.

    The law is solid where it was fitted, and dashed where it extrapolates. At the largest size, an arrow
    leads from what it predicts to the mean that was measured.
    """
    fig, ax = new_figure(height=3.4)
    sizes = list(losses)
    for place, (size, of_seeds) in enumerate(losses.items()):
        color, face = (FIRST, FIRST) if place < fitted else (SECOND, PAPER)
        shown = [round(loss, 2) for loss in of_seeds]
        ax.plot([size] * len(shown), shown, color=color, ls="", marker="o", markersize=8, mfc=face, mew=2)
    for some, style in ((sizes[:fitted], "-"), (sizes[fitted - 1 :], "--")):
        ax.plot(some, [round(law(size), 2) for size in some], color=FIRST, ls=style, marker="", lw=2.5)
    across, predicted, mean = (
        1.12 * sizes[-1],
        law(sizes[-1]),
        sum(losses[sizes[-1]]) / len(losses[sizes[-1]]),
    )
    draw_tip(ax, (across, round(predicted, 2)), (across, round(mean, 2)), INK, 1.5)
    write(
        ax, 1.17 * sizes[-1], math.sqrt(predicted * mean), f"× {mean / predicted:.1f}", "left", weight="bold"
    )
    write_beside(ax, (sizes[-1], max(losses[sizes[-1]])), (0, 10), "measured", "center")
    write_beside(ax, (sizes[1], law(sizes[1])), (-8, -24), "fitted", "right")
    write_beside(ax, (sizes[-2], law(sizes[-2])), (-4, -22), "predicted", "right")
    ax.set(xscale="log", yscale="log", xlim=(sizes[0] / 1.2, 1.7 * sizes[-1]), xlabel="weights")
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.set_yticks([1, 1.5, 2, 3], ["1", "1.5", "2", "3"])
    ax.set_ylabel("loss on new sentences")
    ax.minorticks_off()
    return fig
