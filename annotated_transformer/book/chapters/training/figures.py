"""The drawings of the chapter on training."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from annotated_transformer.book.drawing.figures import new_figure
from annotated_transformer.book.drawing.words import Words, label_ends, write, write_beside
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, INK, LOOKS, MUTED, NEUTRAL, SECOND
from annotated_transformer.training.schedule import learning_rate

Runs = Sequence[Sequence[float]]
EVERY = 10  # updates between two values of a run
TOP = 4.0  # of the panels of sick curves
UPWARD = {"arrowstyle": "-|>", "color": SECOND, "lw": 1.8}
SHIFT = {"arrowstyle": "-|>", "color": MUTED, "lw": 1.0}
SYMPTOMS = {
    "healthy": "both fall\ntogether",
    "rate too high": "flat near\nthe baseline",
    "rate too low": "hardly moves",
    "no zero_grad": "both jump\nup and down",
    "no shift": "training at 0",
    "padding counted": "training\nlower at first",
    "pairs mixed up": "flat at a\nusual rate",
    "32 pairs only": "validation\nturns up",
}


def draw_runs(panels: Mapping[str, Mapping[str, Runs]], *, guess: float) -> Figure:
    """Draw the loss over the updates, a panel per model, a line style per setting, a line per seed.

    `guess` is the loss of a prediction by frequencies.
    """
    fig, _ = new_figure(1, len(panels), width=WIDE, height=2.9)
    axes = fig.axes
    for ax, (title, settings) in zip(axes, panels.items(), strict=True):
        _draw_seeds(ax, settings, guess)
        ax.set(title=title, xlabel="updates")
    top = max(ax.get_ylim()[1] for ax in axes)
    for ax in axes:
        ax.set_ylim(0, top)
        label_ends(ax)
    axes[0].set_ylabel("training loss")
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
    write(ax, widest, 0.03, "without smoothing", "right", "bottom", color=MUTED)
    if smoothing:
        losses = [smoothed_loss(gap, smoothing, classes) for gap in gaps]
        best = best_gap(smoothing, classes)
        low = smoothed_loss(best, smoothing, classes)
        ax.plot(gaps, losses, color=FIRST, ls="-", marker="")
        ax.plot([best, best], [0, low], color=NEUTRAL, lw=1, ls=":", marker="")
        ax.plot([best], [low], color=FIRST, ls="", marker="o", markersize=9)
        write(ax, best + 0.3, low + 0.35, f"{low:.2f} at {best:.1f}", height="bottom")
    ax.set(xlabel="lead of the label's logit", ylabel="loss in nats", xlim=(0, widest), ylim=(-0.15, 3.6))
    return fig


def least(smoothing: float) -> str:
    """Return where the smoothed loss of ten classes is smallest, in words."""
    if smoothing == 0:
        return "no minimum, the curve falls toward 0"
    gap = best_gap(smoothing, 10)
    return f"the minimum is {smoothed_loss(gap, smoothing, 10):.2f}, at a lead of {gap:.1f}"


def draw_rates(schedules: Mapping[str, tuple[int, int]], *, last: int = 20_000) -> Figure:
    """Draw the learning rate of each schedule, given by d_model and the warm-up, with a mark at its peak.

    On the first, a second mark shows where the rate is half as high: at four times as many steps.
    """
    fig, ax = new_figure(height=3.2)
    (base, warmup), *_ = schedules.values()
    half = 4 * warmup, 1e4 * learning_rate(4 * warmup, d_model=base, warmup_steps=warmup)
    ax.plot(*[[place] for place in half], color=FIRST, ls="", marker="o")
    write_beside(ax, half, (-14, 6), "4 × the step,\n½ × the peak", height="bottom", weight="bold")
    steps = range(1, last + 1, last // 200)
    for (name, (d_model, warmup)), (color, style, _) in zip(schedules.items(), cycle(LOOKS), strict=False):
        rates = [1e4 * learning_rate(step, d_model=d_model, warmup_steps=warmup) for step in (*steps, warmup)]
        ax.plot(list(steps), rates[:-1], color=color, ls=style, marker="")
        ax.plot([warmup], rates[-1:], color=color, ls="", marker="o")
        offset, height = ((6, 5), "bottom") if d_model == base else ((20, -46), "top")  # below its curve
        write_beside(ax, (warmup, rates[-1]), offset, name, height=height)
    ax.set(xlabel="step", ylabel="learning rate × 10⁴", ylim=(0, None), xlim=(0, last))
    ax.set_xticks([0, 4000, 8000, 16_000], ["0", "4,000", "8,000", "16,000"])
    return fig


def draw_sick_curves(curves: Mapping[str, tuple[Runs, Runs]], *, guess: float) -> Figure:
    """Draw training and validation losses, a panel for each run's title, with a line for each seed.

    Below a panel stands its symptom. The lines have names where they end farthest apart.
    """
    columns = min(4, len(curves))
    rows = math.ceil(len(curves) / columns)
    fig, _ = new_figure(rows, columns, width=WIDE, height=2.4 * rows)
    fig.set_layout_engine("constrained", hspace=0.12)  # a symptom belongs to the panel above it
    for ax in fig.axes[len(curves) :]:
        ax.set_axis_off()
    for ax, (title, (training, validation)) in zip(fig.axes, curves.items(), strict=False):
        clipped = [[min(value, 2 * TOP) for value in run] for run in validation]
        _draw_seeds(ax, {"training": training, "validation": clipped}, guess)
        ax.set(ylim=(0, TOP), xticks=[], yticks=[0, 2, 4], xlabel=SYMPTOMS.get(title, ""))
        if min(map(min, validation)) > TOP:
            ax.annotate("", (0.1, 0.99), (0.1, 0.72), xycoords="axes fraction", arrowprops=UPWARD)
        ax.set_title(title, fontweight="normal")
        ax.tick_params(labelleft=ax in fig.axes[::columns])
    apart = max(range(len(curves)), key=lambda place: _distance(*list(curves.values())[place]))
    for name, runs in zip(("training", "validation"), list(curves.values())[apart], strict=True):
        end, cut = min(runs[0][-1], TOP), runs[0][-1] > TOP
        offset, height = ((0, -4), "top") if cut else ((0, 6), "bottom")
        write_beside(fig.axes[apart], (EVERY * len(runs[0]), end), offset, name, "right", height)
    fig.axes[0].set_ylabel("loss")
    return fig


def _distance(training: Runs, validation: Runs) -> float:
    """Return how far apart the first seed's two losses end."""
    return abs(training[0][-1] - validation[0][-1])


def draw_surprise(probabilities: Sequence[float]) -> Figure:
    """Draw the loss of a label over its probability, with a mark at each of the given ones."""
    fig, ax = new_figure(height=2.9)
    places = [place / 200 for place in range(4, 201)]
    ax.plot(places, [-math.log(place) for place in places], color=FIRST, ls="-", marker="")
    for place in probabilities:
        ax.plot([place], [-math.log(place)], color=FIRST, ls="", marker="o", markersize=8)
        write_beside(ax, (place, -math.log(place)), (10, 4), f"p = {place:g}: loss {-math.log(place):.2f}")
    ax.set(xlabel="probability p of the label", ylabel="loss −ln p", xlim=(0, 1), ylim=(0, 4))
    return fig


def draw_averages(gradients: Sequence[float], betas: tuple[float, float]) -> Figure:
    """Draw a weight's gradients with Adam's two corrected averages, and below them the resulting steps."""
    m, v = 0.0, 0.0
    means, roots = [], []
    for step, gradient in enumerate(gradients, 1):
        m = betas[0] * m + (1 - betas[0]) * gradient
        v = betas[1] * v + (1 - betas[1]) * gradient**2
        means.append(m / (1 - betas[0] ** step))
        roots.append(math.sqrt(v / (1 - betas[1] ** step)))
    fig, (top, bottom) = new_figure(2, 1, height=4.4)
    steps = range(1, len(gradients) + 1)
    top.plot(steps, gradients, color=NEUTRAL, ls="", marker=".", label="gradient")
    top.plot(steps, means, color=FIRST, ls="-", marker="", label="mean")
    top.plot(steps, roots, color=SECOND, ls="--", marker="", label="RMS")
    top.set(ylabel="gradient", xticks=[])
    top.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    ratios = [mean / root for mean, root in zip(means, roots, strict=True)]
    bottom.bar(steps, ratios, facecolor=to_rgba(FIRST, 0.4), edgecolor=FIRST)
    bottom.set(ylabel="mean / RMS", xlabel="step", ylim=(-1.1, 1.1))
    bottom.axhline(0, color=MUTED, lw=1, ls="-", marker="")
    for ax in (top, bottom):
        ax.set_xlim(0, len(gradients) + 1)
    return fig


def draw_labels(rows: Mapping[int, Tensor], inputs: Words, labels: Words) -> Figure:
    """Draw the probabilities of a target's labels, a row per number of updates, below inputs and labels."""
    fig, ax = new_figure(width=WIDE, height=0.42 * (len(rows) + 3))
    count = len(labels)
    ax.set(xlim=(-1.6, count + 1.2), ylim=(len(rows), -2.3))
    ax.set_axis_off()
    heads = {-1.85: ("decoder reads", inputs, MUTED), -1.0: ("label", labels, INK)}
    for y, (name, words, color) in heads.items():
        write(ax, -0.15, y, name, "right", color=color)
        for place, word in enumerate(words):
            write(ax, place + 0.5, y, word, color=color, weight="bold" if color == INK else "normal")
    for place in range(count - 1):  # the label is what the decoder reads next
        ax.annotate("", (place + 1.35, -1.75), (place + 0.68, -1.1), arrowprops=SHIFT)
    write(ax, count + 0.15, -0.3, "loss", "left", color=MUTED)
    for y, (step, found) in enumerate(rows.items()):
        write(ax, -0.15, y + 0.5, f"{step} updates", "right")
        for place, p in enumerate(found.tolist()):
            box = Rectangle((place + 0.04, y + 0.06), 0.92, 0.88, facecolor=to_rgba(FIRST, 0.75 * p))
            ax.add_patch(box)
            write(ax, place + 0.5, y + 0.5, f"{p:.2f}")
        write(ax, count + 0.15, y + 0.5, f"{-found.log().mean().item():.2f}", "left", weight="bold")
    return fig


def draw_copying(losses: Runs, exact: Runs, every: int, at: int) -> Figure:
    """Draw validation losses, and below them the shares of exact copies, with a line at one update.

    There is a share in `every` updates.
    """
    fig, (top, bottom) = new_figure(2, 1, width=WIDE, height=4.2)
    for ax, runs, apart in ((top, losses, EVERY), (bottom, exact, every)):
        for run in runs:
            places = [apart * (place + 1) for place in range(len(run))]
            ax.plot(places, run, color=FIRST, ls="-", marker="", lw=1.8)
        ax.axvline(at, color=INK, lw=1, ls=":", marker="")
        ax.set_xlim(0, EVERY * len(losses[0]))
    low, high = (100 * edge for edge in _range(run[at // every - 1] for run in exact))
    said = [f"{value:.1f}" for value in _range(run[at // EVERY - 1] for run in losses)]
    write_beside(top, (at, 1.5), (8, 0), f"loss {said[0]} to {said[1]}", weight="bold")
    write_beside(bottom, (at, 0.12), (-8, 0), f"{low:.0f}% to {high:.0f}% exact", "right", weight="bold")
    top.set(ylabel="validation loss", ylim=(0, None), xticklabels=[])
    bottom.set(ylabel="copied exactly", ylim=(0, 1.02), yticks=[0, 0.5, 1], xlabel="updates")
    bottom.set_yticklabels(["0%", "50%", "100%"])
    return fig


def _range(values: Iterable[float]) -> tuple[float, float]:
    found = list(values)
    return min(found), max(found)
