"""The plots of what chapter 22 measures: growth with depth, lengths, and whole stacks."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from annotated_transformer.book.drawing.figures import new_figure
from annotated_transformer.book.drawing.words import label_ends, name_rows, write, write_beside
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, LOOKS, MUTED, NEUTRAL, SECOND

Runs = Sequence[Sequence[float]]  # the values of each seed at each place


def draw_growth(lines: Mapping[str, Runs]) -> Figure:
    """Draw the size of the stream over the number of sub-layers, a curve for each seed of each line."""
    fig, ax = new_figure(width=WIDE, height=2.8)
    last = 0
    for (name, runs), (color, style, _) in zip(lines.items(), LOOKS, strict=False):
        for values in runs:
            sizes = [round(value, 2) for value in values]
            last = len(sizes) - 1
            ax.plot(range(len(sizes)), sizes, color=color, ls=style, marker="", lw=1.5)
        write_beside(ax, (last, sizes[-1]), (6, 0), f"{name}", height="center")
    ax.set(xlim=(0, last), ylim=(0, None), xlabel="sub-layers", ylabel="RMS of the stream")
    return fig


def draw_lengths(lengths: Sequence[int], lines: Mapping[str, Runs], *, trained: int, guess: float) -> Figure:
    """Draw the share of right answers over the length, a line per kind and a mark per seed.

    Lengths up to `trained` occurred in training; the rest of the axis is shaded. A line marks a `guess`.
    """
    fig, ax = new_figure(width=WIDE, height=3.2)
    places = range(len(lengths))
    for (name, runs), (color, style, mark) in zip(lines.items(), LOOKS, strict=False):
        shown = [[round(value, 2) for value in values] for values in runs]
        means = [sum(values) / len(values) for values in zip(*shown, strict=True)]
        ax.plot(places, means, color=color, ls=style, marker="", label=name, clip_on=False)
        for values in shown:
            ax.plot(places, values, color=color, ls="", marker=mark, markersize=5, clip_on=False)
    ax.axvspan(lengths.index(trained), len(lengths) - 1, color=NEUTRAL, alpha=0.15, linewidth=0)
    write(ax, lengths.index(trained) + 0.05, 0.2, "longer than in training", "left", color=MUTED)
    ax.axhline(guess, color=NEUTRAL, lw=1, ls=":", marker="")
    write(ax, 0.03, guess + 0.05, "a guess", "left", color=MUTED)
    ax.set_xticks(list(places), [str(length) for length in lengths])
    ax.set(xlim=(0, len(lengths) - 1), ylim=(0, 1.04), xlabel="tokens", ylabel="right answers")
    ax.set_yticks([0, 0.5, 1], ["0", "½", "1"])
    label_ends(ax, gap=9)
    return fig


def draw_stacks(
    panels: Mapping[float, Mapping[str, Sequence[float]]], *, label: str, marked: Mapping[float, str]
) -> Figure:
    """Draw a panel per learning rate, with a row per stack and a mark per seed.

    A line marks the mean of the first stack; `marked` has words beside its marks at a rate.
    """
    fig, axes = new_figure(1, len(panels), width=WIDE, height=3.2)
    for place, (ax, (rate, rows)) in enumerate(zip(axes, panels.items(), strict=True)):
        for row, values in enumerate(rows.values()):
            color, mark = (FIRST, "o") if row else (SECOND, "s")
            if row == 0:
                ax.axvline(sum(values) / len(values), color=SECOND, lw=1.2, ls="--", marker="")
            ends = [min(values), max(values)]
            ax.plot(ends, [row, row], color=color, lw=1.5, ls="-", marker="")
            ax.plot(values, [row] * len(values), color=color, ls="", marker=mark, markersize=6)
        names = [f"+ {name}" if row else name for row, name in enumerate(rows)]
        ax.set_xscale("log")
        first = next(iter(rows.values()))
        write(ax, 0.8 * min(first), 0, marked.get(rate, ""), "right")
        ax.set(xlim=(0.01, 2), ylim=(len(rows) - 0.5, -0.5))
        ax.set_xticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
        ax.minorticks_off()
        name_rows(ax, names, shown=place == 0)
        ax.set_title(f"rate {rate:g}", loc="center")
        ax.spines["left"].set_visible(False)
    axes[len(panels) // 2].set_xlabel(label)
    return fig
