"""The drawings of what was measured in the chapter on cost and scale: machines, formats, and losses."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from annotated_transformer.book.chapters.cost_and_scale.power_law import PowerLaw
from annotated_transformer.book.drawing.boxes import draw_area
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import label_ends, write, write_beside
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, INK, LOOKS, MUTED, NEUTRAL, SECOND

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


def draw_shares(updates: Mapping[str, Mapping[str, Number]]) -> Figure:
    """Draw the share of each kind of operator in the time of an update, one bar for each model."""
    most = {kind: max(shares[kind] for shares in updates.values()) for kind in next(iter(updates.values()))}
    kinds = sorted((kind for kind, share in most.items() if share >= 0.005), key=lambda kind: -most[kind])
    fig, ax = new_figure(height=0.46 * len(kinds) + 0.9)
    for place, kind in enumerate(kinds):
        for row, (name, shares) in enumerate(updates.items()):
            color, hatch = ((FIRST, ""), (SECOND, "//"))[row % 2]
            shown = round(100 * shares[kind], 1)
            y = place + 0.38 * (row - (len(updates) - 1) / 2)
            ax.barh(y, shown, color=to_rgba(color, 0.45), edgecolor=color, hatch=hatch, height=0.34)
            words = f"{shown:.0f}%  {name}" if place == 0 else f"{shown:.0f}%"
            write(ax, shown + 0.7, y, words, "left")
    ax.set(xlim=(0, 130), ylim=(len(kinds) - 0.4, -0.6), xlabel="percent of the time of an update")
    ax.set_xticks(range(0, 101, 50))
    ax.set_yticks(range(len(kinds)), [kind.replace(", ", ",\n", 1) for kind in kinds])
    ax.tick_params(left=False)
    return fig


def draw_formats(formats: Mapping[str, tuple[int, int]]) -> Figure:
    """Draw the bits of each format: one for the sign, some for the exponent, the others for the fraction."""
    fig, ax = new_canvas(64, 5.4 * len(formats) + 3.4, width=WIDE)
    widest = max(1 + exponent + fraction for exponent, fraction in formats.values())
    size = 49.0 / widest
    for row, (name, (exponent, fraction)) in enumerate(formats.items()):
        y = 5.4 * (len(formats) - 1 - row) + 1.2
        write(ax, 13, y + 1.2, name, "right")
        for bit in range(1 + exponent + fraction):
            kind = 0 if bit == 0 else 1 if bit <= exponent else 2
            color, hatch = ((NEUTRAL, ""), (FIRST, ""), (SECOND, "//"))[kind]
            draw_area(ax, (14 + size * bit, y), size, 2.4, color, 0.4, hatch=hatch)
        middles = (14 + size * (1 + exponent / 2), 14 + size * (1 + exponent + fraction / 2))
        for x, words in zip(middles, (f"{exponent}: range", f"{fraction}: precision"), strict=True):
            write(ax, x, y + 2.7, words, height="bottom", color=MUTED)
    return fig


def draw_sums(counts: Sequence[int], sums: Mapping[str, Sequence[Number]]) -> Figure:
    """Draw a running sum of ones in each format over how many were added."""
    fig, ax = new_figure(height=2.6)
    for (name, values), (color, style, _) in zip(sums.items(), LOOKS, strict=False):
        ax.plot(counts, values, color=color, ls=style, marker="", label=name, clip_on=False)
    ax.set(xlim=(0, counts[-1]), ylim=(0, None), xlabel="ones added", ylabel="sum")
    label_ends(ax)
    return fig


def draw_caches(users: Sequence[int], caches: Mapping[str, Sequence[Number]], *, weights: Number) -> Figure:
    """Draw the bytes of all users' caches over the number of users, and those of the weights, in GB."""
    fig, ax = new_figure(height=3.0)
    for (name, sizes), (color, style, _) in zip(caches.items(), LOOKS, strict=False):
        shown = [round(size / 1e9, 2) for size in sizes]
        ax.plot(users, shown, color=color, ls=style, marker="", label=name, clip_on=False)
    ax.axhline(weights / 1e9, color=INK, lw=1.5, ls="-", marker="")
    write(ax, users[-1], weights / 1e9, "the weights, once", "right", "bottom")
    ax.set(xlim=(users[0], users[-1]), ylim=(0, None), xlabel="users", ylabel="GB of caches")
    label_ends(ax)
    return fig


def draw_errors(errors: Mapping[str, Mapping[str, Number]]) -> Figure:
    """Draw the error of each layer's output for several roundings of the weights, in percent."""
    fig, ax = new_figure(height=3.0)
    layers = list(next(iter(errors.values())))
    for (name, by_layer), (color, style, mark) in zip(errors.items(), LOOKS, strict=False):
        shown = [round(100 * by_layer[layer], 2) for layer in layers]
        ax.plot(range(len(layers)), shown, color=color, ls=style, marker=mark, label=name, clip_on=False)
    ax.set(xticks=range(len(layers)), xticklabels=layers, yscale="log", ylabel="error of the output, %")
    ax.minorticks_off()
    label_ends(ax)
    return fig


def draw_laws(
    panels: Mapping[str, tuple[Mapping[int, Sequence[Number]], PowerLaw]], *, fitted: int
) -> Figure:
    """Draw the losses of all seeds over the number of weights, and the law fitted to the first sizes.

    The law is solid where it was fitted, and dashed where it extrapolates.
    """
    fig, _ = new_figure(1, len(panels), height=3.1)
    every = [loss for losses, law in panels.values() for some in losses.values() for loss in some]
    every += [law(max(losses)) for losses, law in panels.values()]
    for ax, (title, (losses, law)) in zip(fig.axes, panels.items(), strict=True):
        sizes = list(losses)
        for place, (size, of_seeds) in enumerate(losses.items()):
            color, mark = (FIRST, "o") if place < fitted else (SECOND, "s")
            ax.plot([size] * len(of_seeds), of_seeds, color=color, ls="", marker=mark, markersize=5)
        inside, beyond = sizes[:fitted], sizes[fitted - 1 :]
        ax.plot(inside, [law(size) for size in inside], color=FIRST, ls="-", marker="", lw=2)
        ax.plot(beyond, [law(size) for size in beyond], color=MUTED, ls="--", marker="", lw=2)
        ax.set(xscale="log", yscale="log", ylim=(min(every) / 1.2, max(every) * 1.2))
        ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 3, 5) if min(every) <= tick <= max(every)]
        ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.set_title(title, loc="left", weight="normal")
        ax.set_xlabel("weights")
        ax.minorticks_off()
    fig.axes[0].set_ylabel("validation loss")
    return fig
