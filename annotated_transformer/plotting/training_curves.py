"""The curves of a training run: the loss, the learning rate, the gradient norm, and the health metrics."""

import math
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.plotting.figures import HOUSE_STYLE, WIDE, Plot, new_plot
from annotated_transformer.plotting.palette import LOOKS, MUTED, NEUTRAL
from annotated_transformer.plotting.reports import Schedule, read_reports, read_schedule
from annotated_transformer.training.metrics import EpochMetrics

RATE, HEALTH = "learning rate", ("encoder cosine", "cross-attention entropy")
# Titles of the figure's parts, and names and labels of the numbers in them. The first part is large; the
# others stand in a row below it, and their titles end in the last value.
PANELS = {
    "Loss (nats per token)": {"training_loss": "training loss", "validation_loss": "validation loss"},
    "Learning\nrate": {"lr": RATE},
    "Gradient\nnorm": {"gradient_norm": "gradient norm"},
    "Encoder\ncosine": {"encoder_cosine": HEALTH[0]},
    "Cross-attention\nentropy": {"cross_attention_entropy": HEALTH[1]},
}
MARKS = 12  # roughly, per line: one for each of many epochs would merge into a band
SAMPLES = 200  # of the schedule

# In inches: the figure, and the large panel and the row of small ones (left, bottom, width, height).
HEIGHT = 4.35
LARGE = (0.6, 2.12, 4.3, 1.88)
SMALL = (0.6, 0.1, 0.98, 0.75)
PITCH = 1.53  # from one small panel to the next
LINE = 0.21  # between two lines of text


class Curve(NamedTuple):
    """The values of one number, and the steps at which they were reported."""

    label: str
    steps: list[int]
    values: list[float]


@refuses_other_kinds
def plot_curves(folder: str | Path) -> Plot:
    """Plot loss, learning rate, gradient norm and health of the training run in `folder`, finished or not.

    A notebook shows the figure, and its `savefig` writes an image, like the command `curves`.
    """
    return draw_curves(read_reports(folder), read_schedule(folder))


@refuses_other_kinds
@matplotlib.rc_context(HOUSE_STYLE)
def draw_curves(reports: list[EpochMetrics], schedule: Schedule | None = None) -> Plot:
    """Draw loss, learning rate, gradient norm and health over the training steps; omit what was not measured.

    The reports are those that `train` returned or that `read_reports` found in a run's folder. A `schedule`
    gives the learning rate at each step, between the reports as well: see `read_schedule`.

    Raises:
        ValueError: There are no reports, or the schedule contradicts them.
    """
    panels = _panels(reports)
    _refuse_another_schedule(reports, schedule)
    fig, _ = new_plot(1, len(panels), width=WIDE, height=HEIGHT)
    fig.set_layout_engine("none")  # so that the axes line up whatever their labels
    for place, (ax, (title, curves)) in enumerate(zip(fig.axes, panels.items(), strict=True)):
        left, bottom, width, height = SMALL if place else LARGE
        left += PITCH * max(0, place - 1)
        ax.set_position((left / WIDE, bottom / HEIGHT, width / WIDE, height / HEIGHT))
        _draw_lines(ax, curves, schedule)
        if schedule is not None:
            ax.axvspan(0, _warmup(schedule, reports[-1].step), color=NEUTRAL, alpha=0.2, linewidth=0)
        ax.set_xlim(0, reports[-1].step)
        ax.set_ylim(bottom=min(0.0, *(value for curve in curves for value in curve.values)))
        if place:
            _finish_small(ax, title, curves[0])
        else:
            _finish_large(ax, title, curves, schedule)
    return fig


@refuses_other_kinds
def describe_curves(reports: list[EpochMetrics], schedule: Schedule | None = None) -> str:
    """Describe each curve: where it begins and ends, and where it is lowest and highest.

    With the schedule, which is drawn instead of the reported learning rates, their peak is the schedule's.
    """
    curves = [curve for curves in _panels(reports).values() for curve in curves]
    last = reports[-1]
    sentences = [f"A training run of {last.step} steps, in epoch {last.epoch}."]
    for label, steps, values in curves:
        at = [f"{value:.3g} at step {step}" for step, value in zip(steps, values, strict=True)]
        low, high = (at[values.index(end(values))] for end in (min, max))
        if schedule is not None and label == RATE:
            top = _warmup(schedule, last.step)
            then = "then falls" if top < last.step else "still in its warm-up"
            sentences.append(f"The learning rate rises to {schedule(top):.3g} at step {top:,}, {then}.")
        elif len(at) == 1:
            sentences.append(f"{label.capitalize()}: {at[0]}.")
        else:
            sentences.append(f"{label.capitalize()}: from {at[0]} to {at[-1]}, lowest {low}, highest {high}.")
    return " ".join(sentences)


def _panels(reports: list[EpochMetrics]) -> dict[str, list[Curve]]:
    """Return the curves of each panel, without numbers that are NaN or were not measured."""
    if not reports:
        raise ValueError("there are no reports to draw; train for an epoch or more")
    panels: dict[str, list[Curve]] = {}
    for title, labels in PANELS.items():
        for name, label in labels.items():
            points = [(report.step, getattr(report, name)) for report in reports]
            measured = [(step, x) for step, x in points if x is not None and math.isfinite(x)]
            if measured:
                steps, values = (list(numbers) for numbers in zip(*measured, strict=True))
                panels.setdefault(title, []).append(Curve(label, steps, values))
    return panels


def _refuse_another_schedule(reports: list[EpochMetrics], schedule: Schedule | None) -> None:
    for report in reports:
        if schedule is not None and not math.isclose(schedule(report.step), report.lr, rel_tol=1e-6):
            raise ValueError(
                f"the schedule gives {schedule(report.step):.6g} at step {report.step}, but the report has a "
                f"learning rate of {report.lr:.6g}; give the schedule of the same training run, or none"
            )


def _warmup(schedule: Schedule, last: int) -> int:
    """Return the step at which the learning rate is highest."""
    return max(range(1, last + 1), key=schedule)


def _draw_lines(ax: Axes, curves: list[Curve], schedule: Schedule | None) -> None:
    last = curves[0].steps[-1]
    for curve, (color, style, mark) in zip(curves, LOOKS, strict=False):
        if curve.label == RATE and schedule is not None:
            top = _warmup(schedule, last)
            steps = sorted({1, top, *range(1, last + 1, math.ceil(last / SAMPLES)), last})
            rates = [schedule(step) for step in steps]
            ax.plot(steps, rates, "-", label="schedule", color=color, marker="", clip_on=False)
            style = "none"  # the markers stand on the schedule
        every = math.ceil(len(curve.steps) / MARKS)
        look: dict[str, Any] = {"color": color, "linestyle": style, "marker": mark, "markevery": every}
        ax.plot(curve.steps, curve.values, label=curve.label, clip_on=False, **look)


def _finish_large(ax: Axes, title: str, curves: list[Curve], schedule: Schedule | None) -> None:
    """Name the lines of the losses, the warm-up, and where the validation loss was lowest."""
    last = curves[0].steps[-1]
    ax.set_title(title, loc="left", x=(0.08 - LARGE[0]) / LARGE[2], pad=9)
    ax.set_xlabel("training steps", loc="right")
    ax.xaxis.set_major_locator(MaxNLocator(3, integer=True))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda step, _: f"{step:,.0f}"))
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    _label_ends(ax, LARGE[3], curves)
    if schedule is not None:
        top = _warmup(schedule, last)
        text = f"shaded: warm-up to step {top:,}" if top < last else "shaded: warm-up"
        ax.set_title(text, loc="right", pad=9, weight="normal", color=MUTED)
    losses = curves[-1]
    lowest = losses.values.index(min(losses.values))
    if 0 < lowest < len(losses.values) - 1:
        spot = losses.steps[lowest], losses.values[lowest]
        ax.annotate(
            f"lowest {_short(spot[1])}", spot, (0, -9), textcoords="offset points", ha="center", va="top",
            weight="bold",
        )  # fmt: skip


def _finish_small(ax: Axes, title: str, curve: Curve) -> None:
    """Write the last value into the title, and leave only the ends of the axes."""
    ax.set_title(
        f"{title} {_short(curve.values[-1])}", loc="left", x=-0.12 / SMALL[2], pad=9, weight="normal"
    )
    ax.set_xticks([])
    if curve.label in HEALTH:  # from 0 to 1, where 1 is bad
        ax.set_ylim(top=1.0)
        ax.set_yticks([0, 1], ["0", "bad 1"])
    else:
        ax.yaxis.set_major_locator(MaxNLocator(1, steps=[1, 2, 5, 10]))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _label_ends(ax: Axes, height: float, curves: list[Curve]) -> None:
    """Write the name and the last value of each curve beside its end, at least one line apart."""
    low, high = ax.get_ylim()
    inches = [(curve.values[-1] - low) / (high - low) * height for curve in curves]
    if len(inches) == 2 and abs(inches[0] - inches[1]) < LINE:
        middle, apart = sum(inches) / 2, math.copysign(LINE / 2, inches[0] - inches[1])
        middle = max(middle, LINE / 2)
        inches = [middle + apart, middle - apart]
    for curve, y in zip(curves, inches, strict=True):
        ax.annotate(
            f"{curve.label.removesuffix(' loss')} {_short(curve.values[-1])}",
            (1, y / height),
            xycoords="axes fraction",
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            annotation_clip=False,
        )


def _short(value: float) -> str:
    """Return two digits of a number; one if it is so large that its exponent is shown."""
    return f"{value:.2g}" if value < 1e4 else f"{value:.0e}".replace("e+0", "e").replace("e+", "e")
