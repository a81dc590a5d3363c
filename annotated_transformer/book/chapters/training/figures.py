"""The drawings of the chapter on training."""

import math
from collections.abc import Mapping, Sequence
from itertools import cycle

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from annotated_transformer.book.drawing.figures import new_figure
from annotated_transformer.plotting.palette import FIRST, LOOKS, MUTED, NEUTRAL, SECOND
from annotated_transformer.training.schedule import learning_rate

Runs = Sequence[Sequence[float]]
EVERY = 10  # updates between two values of a run
TOP = 4.0  # of the panels of sick curves


def draw_runs(panels: Mapping[str, Mapping[str, Runs]], *, guess: float) -> Figure:
    """Draw the loss over the updates, a panel per model, a line style per setting, a line per seed.

    `guess` is the loss of a prediction by frequencies.
    """
    fig, _ = new_figure(1, len(panels), height=3.1)
    axes = fig.axes
    for ax, (title, settings) in zip(axes, panels.items(), strict=True):
        _draw_seeds(ax, settings, guess)
        ax.set(title=title, xlabel="updates")
    top = max(ax.get_ylim()[1] for ax in axes)
    for ax in axes:
        ax.set_ylim(0, top)
    axes[0].set_ylabel("training loss")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def _draw_seeds(ax: Axes, settings: Mapping[str, Runs], guess: float) -> None:
    for (name, runs), (color, style, _) in zip(settings.items(), cycle(LOOKS), strict=False):
        for number, run in enumerate(runs):
            places = [EVERY * (place + 1) for place in range(len(run))]
            label = name if number == 0 else None
            shown = [round(value, 2) for value in run]
            ax.plot(places, shown, color=color, ls=style, marker="", lw=1.6, label=label)
    ax.axhline(round(guess, 2), color=MUTED, lw=1, ls=":", marker="")


def smoothed_loss(gap: float, smoothing: float, classes: int) -> float:
    """Return the smoothed loss of a label whose logit is `gap` above all the others, which are equal."""
    of_label = -math.log1p((classes - 1) * math.exp(-gap))
    return -(1 - smoothing + smoothing / classes) * of_label - (classes - 1) * smoothing / classes * (
        of_label - gap
    )


def best_gap(smoothing: float, classes: int) -> float:
    """Return the gap at which the smoothed loss is smallest."""
    return math.log((1 - smoothing) * classes / smoothing + 1) if smoothing else math.inf


def draw_smoothing(smoothing: float) -> Figure:
    """Draw the loss with and without smoothing over the label's lead, with the smoothed loss's minimum."""
    classes, widest = 10, 12
    fig, ax = new_figure(height=3.4)
    gaps = [place / 10 for place in range(10 * widest + 1)]
    ax.plot(gaps, [smoothed_loss(gap, 0.0, classes) for gap in gaps], color=SECOND, ls="--", marker="")
    ax.text(widest, 0.03, "without smoothing", ha="right", va="bottom", color=MUTED)
    if smoothing:
        losses = [smoothed_loss(gap, smoothing, classes) for gap in gaps]
        best = best_gap(smoothing, classes)
        low = smoothed_loss(best, smoothing, classes)
        ax.plot(gaps, losses, color=FIRST, ls="-", marker="")
        ax.plot([best, best], [0, low], color=NEUTRAL, lw=1, ls=":", marker="")
        ax.plot([best], [low], color=FIRST, ls="", marker="o", markersize=9)
        ax.text(best + 0.3, low + 0.35, f"{low:.2f} at {best:.1f}", ha="center", va="bottom")
    ax.set(xlabel="lead of the label's logit", ylabel="loss in nats", xlim=(0, widest), ylim=(-0.15, 3.6))
    return fig


def draw_rates(schedules: Mapping[str, tuple[int, int]], *, last: int = 20_000) -> Figure:
    """Draw the learning rate of each schedule, given by d_model and the warm-up, with a mark at its peak."""
    fig, ax = new_figure(height=3.2)
    steps = range(1, last + 1, last // 200)
    for (name, (d_model, warmup)), (color, style, _) in zip(schedules.items(), cycle(LOOKS), strict=False):
        rates = [1e4 * learning_rate(step, d_model=d_model, warmup_steps=warmup) for step in steps]
        peak = 1e4 * learning_rate(warmup, d_model=d_model, warmup_steps=warmup)
        ax.plot(list(steps), rates, color=color, ls=style, marker="", label=name)
        ax.plot([warmup], [peak], color=color, ls="", marker="o")
    ax.set(xlabel="step", ylabel="learning rate × 10⁴", ylim=(0, None), xlim=(0, last))
    ax.set_xticks([0, 4000, 8000, 16_000], ["0", "4,000", "8,000", "16,000"])
    ax.legend(loc="upper right")
    return fig


def draw_sick_curves(curves: Mapping[str, tuple[Runs, Runs]], *, guess: float) -> Figure:
    """Draw training and validation losses, a panel for each run's title, with a line for each seed."""
    rows = math.ceil(len(curves) / 2)
    fig, axes = new_figure(rows, 2, height=1.9 * rows + 0.4)
    for ax in axes.flat[len(curves) :]:
        ax.set_axis_off()
    for ax, (title, (training, validation)) in zip(axes.flat, curves.items(), strict=False):
        clipped = [[min(value, 2 * TOP) for value in run] for run in validation]
        _draw_seeds(ax, {"training loss": training, "validation loss": clipped}, guess)
        ax.set(ylim=(0, TOP))
        if min(map(min, validation)) > TOP:
            ax.text(0.97, 0.97, f"validation above {TOP:g}", ha="right", va="top", transform=ax.transAxes)
        ax.set_title(title, fontweight="normal")
    for ax in axes.flat[: len(curves)][-2:]:
        ax.set_xlabel("updates")
    fig.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig
