"""The drawings of the chapter on training."""

import math
from collections.abc import Mapping, Sequence
from itertools import cycle, pairwise

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from annotated_transformer.book.drawing.boxes import draw_arrow, draw_box, draw_line
from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import label_ends, write, write_beside
from annotated_transformer.plotting.figures import WIDE
from annotated_transformer.plotting.palette import FIRST, INK, LOOKS, MUTED, NEUTRAL, SECOND
from annotated_transformer.training.schedule import learning_rate

Runs = Sequence[Sequence[float]]
EVERY = 10  # updates between two values of a run
TOP = 4.0  # of the panels of sick curves
UPWARD = {"arrowstyle": "-|>", "color": SECOND, "lw": 1.8}
DOWNWARD = {"arrowstyle": "-|>", "color": INK, "lw": 1.5}


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


def draw_sick_curves(
    curves: Mapping[str, tuple[Runs, Runs]], *, guess: float, symptoms: Mapping[str, str]
) -> Figure:
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
        ax.set(ylim=(0, TOP), xticks=[], yticks=[0, 2, 4], xlabel=symptoms.get(title, ""))
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


def draw_targets(classes: int, smoothing: float, label: int) -> Figure:
    """Draw the one-hot target and the smoothed one as bars, a bar per token."""
    fig, axes = new_figure(1, 2, height=2.3)
    for ax, share, title, color, hatch in zip(
        axes, (0.0, smoothing), ("one-hot", "smoothed"), (FIRST, SECOND), ("", "//"), strict=True
    ):
        heights = [share / classes + (1 - share) * (token == label) for token in range(classes)]
        ax.bar(range(classes), heights, facecolor=to_rgba(color, 0.4), edgecolor=color, hatch=hatch)
        write(ax, label, heights[label] + 0.03, f"{heights[label]:.2f}", height="bottom")
        other = (label + classes // 2) % classes
        write(ax, other, heights[other] + 0.03, f"{heights[other]:.2f} each", height="bottom")
        ax.set(title=title, ylim=(0, 1.2), xticks=[label], xticklabels=["label"], yticks=[0, 1])
    axes[0].set_ylabel("target")
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


def draw_update(parts: Mapping[str, str]) -> Figure:
    """Draw one update as boxes in a row, each under what computes it, and the way back to the second."""
    wide, gap = 2.3, 1.1
    lines = 1 + max(call.count("\n") for call in parts.values())
    fig, ax = new_canvas(len(parts) * (wide + gap) - gap + 0.4, 2.6 + 0.7 * lines, width=WIDE)
    boxes = []
    for place, (name, call) in enumerate(parts.items()):
        boxes.append(draw_box(ax, 0.2 + place * (wide + gap), 1.3, wide, 1.0, name))
        write(ax, boxes[-1].center[0], 2.55, call, height="bottom", color=MUTED)
    for one, two in pairwise(boxes):
        draw_arrow(ax, one, two)
    (back, _), (to, _) = boxes[-1].bottom, boxes[1].bottom
    draw_line(ax, boxes[-1].bottom, (back, 0.6), (to, 0.6))
    draw_arrow(ax, (to, 0.6), boxes[1].bottom)
    write(ax, (back + to) / 2, 0.5, "the next batch meets the new weights", height="top")
    return fig


def draw_copying(losses: Runs, exact: Runs, every: int) -> Figure:
    """Draw validation losses, and beside them the shares of exact copies, one value in `every` updates."""
    fig, axes = new_figure(1, 2, height=2.5)
    for ax, runs, apart in zip(axes, (losses, exact), (EVERY, every), strict=True):
        for run in runs:
            places = [apart * (place + 1) for place in range(len(run))]
            ax.plot(places, run, color=FIRST, ls="-", marker="", lw=1.6)
        ax.set(xlabel="updates", ylim=(0, None))
    axes[0].set_title("validation loss")
    axes[1].set(title="copied exactly", ylim=(0, 1.02), yticks=[0, 0.5, 1], yticklabels=["0%", "50%", "100%"])
    return fig


def draw_steps(settings: Mapping[str, Sequence[float]], large: int) -> Figure:
    """Draw the lengths of Adam's steps, a line per setting, with an arrow where the large gradient acts."""
    fig, ax = new_figure(width=WIDE, height=2.7)
    for (name, lengths), (color, style, _) in zip(settings.items(), cycle(LOOKS), strict=False):
        ax.plot(range(1, len(lengths) + 1), lengths, color=color, ls=style, marker="", label=name)
    ax.set(xlabel="step", ylabel="length / rate", ylim=(0, 1.15))
    fallen = min(lengths[large - 1] for lengths in settings.values())
    ax.annotate(
        "one huge gradient", (large, fallen), (large + 3, fallen + 0.15), ha="left", va="center",
        arrowprops=DOWNWARD,
    )  # fmt: skip
    label_ends(ax)
    return fig
