"""The curves of a training run: the loss, the learning rate, the gradient norm, and the health metrics."""

import math
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from annotated_transformer.plotting.figures import HOUSE_STYLE, WIDTH, Plot, new_plot
from annotated_transformer.plotting.palette import LOOKS, NEUTRAL
from annotated_transformer.plotting.reports import Schedule, read_reports, read_schedule
from annotated_transformer.training.metrics import EpochMetrics


class Panel(NamedTuple):
    """One part of the figure: its title, its height in inches, and the names of the numbers that it shows."""

    title: str
    height: float
    names: tuple[str, ...]


PANELS = (
    Panel("Loss (nats per token)", 1.6, ("training_loss", "validation_loss")),
    Panel("Learning rate", 0.95, ("lr",)),
    Panel("Gradient norm", 0.7, ("gradient_norm",)),
    Panel("Health (near 1 is bad)", 1.0, ("encoder_cosine", "cross_attention_entropy")),
)
LABELS = {
    "training_loss": "training loss",
    "validation_loss": "validation loss",
    "lr": "learning rate",
    "gradient_norm": "gradient norm",
    "encoder_cosine": "encoder cosine",
    "cross_attention_entropy": "cross-attention entropy",
}
SHORT = {  # beside the end of a line; the panel's title gives the rest
    "training loss": "training",
    "validation loss": "validation",
    "encoder cosine": "cosine",
    "cross-attention entropy": "entropy",
}
MARKS = 12  # roughly, per line: one for each of many epochs would merge into a band
SAMPLES = 200  # of the schedule

LEFT, RIGHT, ABOVE, BELOW = 0.74, 1.44, 0.4, 0.56  # inches around a panel; its title is above
LINE = 0.21  # inches between two lines of text


class Curve(NamedTuple):
    """The values of one number, and the steps at which they were reported."""

    label: str
    steps: list[int]
    values: list[float]

    def summary(self) -> str:
        """Return the first and the last value in a few words."""
        if len(self.values) == 1:
            return f"{self.label} {self.values[0]:.3g}"
        return f"{self.label} from {self.values[0]:.3g} to {self.values[-1]:.3g}"

    def description(self) -> str:
        """Return the first, last, lowest and highest value with their steps."""
        at = [f"{value:.3g} at step {step}" for step, value in zip(self.steps, self.values, strict=True)]
        if len(at) == 1:
            return f"{self.label}: {at[0]}."
        low, high = (at[self.values.index(end(self.values))] for end in (min, max))
        return f"{self.label}: from {at[0]} to {at[-1]}, lowest {low}, highest {high}."


def plot_curves(folder: str | Path) -> Plot:
    """Plot loss, learning rate, gradient norm and health of the training run in `folder`, finished or not.

    A notebook shows the figure, and its `savefig` writes an image, like the command `curves`.

    Raises:
        FileNotFoundError: There are no reports yet.
        ValueError: A file of the run is damaged.
    """
    return draw_curves(read_reports(folder), read_schedule(folder))


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
    height = sum(panel.height + ABOVE for panel in panels) + BELOW
    fig, _ = new_plot(len(panels), 1, height=height)
    top = height
    fig.set_layout_engine("none")  # so that the axes line up whatever their labels
    for ax, (panel, curves) in zip(fig.axes, panels.items(), strict=True):
        top -= ABOVE + panel.height
        box = (LEFT / WIDTH, top / height, 1 - (LEFT + RIGHT) / WIDTH, panel.height / height)
        ax.set_position(box)
        _draw_panel(ax, panel, curves, schedule)
        if schedule is not None:
            ax.axvspan(0, _warmup(schedule, reports[-1].step), color=NEUTRAL, alpha=0.2, linewidth=0)
        ax.set_xlim(0, reports[-1].step)
        ax.xaxis.set_major_locator(MaxNLocator(3, integer=True))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda step, _: f"{step:,.0f}"))
        if ax is not fig.axes[-1]:
            ax.tick_params(labelbottom=False)
    fig.axes[-1].set_xlabel("training steps")
    return fig


def describe_curves(reports: list[EpochMetrics], schedule: Schedule | None = None) -> str:
    """Describe each curve: where it begins and ends, and where it is lowest and highest.

    With the schedule, which is drawn instead of the reported learning rates, their peak is the schedule's.

    Raises:
        ValueError: There are no reports.
    """
    curves = [curve for curves in _panels(reports).values() for curve in curves]
    last = reports[-1]
    sentences = [f"A training run of {last.step} steps, in epoch {last.epoch}."]
    for curve in curves:
        if schedule is not None and curve.label == LABELS["lr"]:
            sentences.append(_describe_schedule(schedule, last.step))
        else:
            sentences.append(curve.description().capitalize())
    return " ".join(sentences)


def _describe_schedule(schedule: Schedule, last: int) -> str:
    top = _warmup(schedule, last)
    then = "then falls" if top < last else "still in its warm-up"
    return f"The learning rate rises to {schedule(top):.3g} at step {top:,}, {then}."


def summarize_curves(reports: list[EpochMetrics], schedule: Schedule | None = None) -> str:
    """Describe the figure in the few sentences that replace it for a reader who cannot see it.

    Raises:
        ValueError: There are no reports.
    """
    loss, *others = _panels(reports).values()
    last = reports[-1].step
    losses = ", ".join(curve.summary() for curve in loss)
    sentences = [f"Curves over {last:,} training steps: {losses}"]
    if schedule is not None:
        sentences.append(_describe_schedule(schedule, last).removesuffix("."))
    shown = [curve for curves in others for curve in curves]
    shown = [curve for curve in shown if schedule is None or curve.label != LABELS["lr"]]
    sentences += [curve.summary().capitalize() for curve in shown]
    return " ".join(f"{sentence}." for sentence in sentences)


def headline(reports: list[EpochMetrics]) -> str:
    """Return a title that says how the validation loss changed, or without it, the training loss."""
    loss = next(iter(_panels(reports).values()))[-1]
    first, last = loss.values[0], loss.values[-1]
    if len(loss.values) == 1 or first == last:
        return f"The {loss.label} is {last:.3g}"
    return f"The {loss.label} {'falls' if last < first else 'rises'} from {first:.3g} to {last:.3g}"


def _panels(reports: list[EpochMetrics]) -> dict[Panel, list[Curve]]:
    if not reports:
        raise ValueError("there are no reports to draw; train for an epoch or more")
    panels = {panel: [_curve(reports, name) for name in panel.names] for panel in PANELS}
    measured = {panel: [curve for curve in curves if curve.steps] for panel, curves in panels.items()}
    return {panel: curves for panel, curves in measured.items() if curves}


def _curve(reports: list[EpochMetrics], name: str) -> Curve:
    """Return the reported numbers of that name, without NaN."""
    found = [(report.step, getattr(report, name)) for report in reports]
    found = [(step, value) for step, value in found if value is not None and math.isfinite(value)]
    return Curve(LABELS[name], [step for step, _ in found], [value for _, value in found])


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


def _draw_panel(ax: Axes, panel: Panel, curves: list[Curve], schedule: Schedule | None) -> None:
    last = curves[0].steps[-1]
    title = panel.title
    for curve, (color, style, mark) in zip(curves, LOOKS, strict=False):
        if curve.label == LABELS["lr"] and schedule is not None:
            top = _warmup(schedule, last)
            steps = sorted({1, top, *range(1, last + 1, math.ceil(last / SAMPLES)), last})
            rates = [schedule(step) for step in steps]
            ax.plot(steps, rates, "-", label="schedule", color=color, marker="", clip_on=False)
            title = f"{title}: warm-up to step {top:,}" if top < last else f"{title}: warm-up"
            style = "none"  # the markers stand on the schedule
        every = math.ceil(len(curve.steps) / MARKS)
        look: dict[str, Any] = {"color": color, "linestyle": style, "marker": mark, "markevery": every}
        ax.plot(curve.steps, curve.values, label=curve.label, clip_on=False, **look)
    ax.set_title(title, loc="left", x=(0.08 - LEFT) / (WIDTH - LEFT - RIGHT), pad=9)
    ax.set_ylim(bottom=min(0.0, *(value for curve in curves for value in curve.values)))
    if panel.names[0] == "encoder_cosine":
        ax.set_ylim(top=1.0)
    ax.yaxis.set_major_locator(MaxNLocator(4 if panel.height > 1 else 2, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    _label_ends(ax, panel.height, curves)


def _label_ends(ax: Axes, height: float, curves: list[Curve]) -> None:
    """Write the name and the last value of each curve beside its end, at least one line apart."""
    low, high = ax.get_ylim()
    inches = [(curve.values[-1] - low) / (high - low) * height for curve in curves]
    if len(inches) == 2 and abs(inches[0] - inches[1]) < LINE:
        middle, apart = sum(inches) / 2, math.copysign(LINE / 2, inches[0] - inches[1])
        middle = max(middle, LINE / 2)
        inches = [middle + apart, middle - apart]
    for curve, y in zip(curves, inches, strict=True):
        name = SHORT.get(curve.label, "")
        ax.annotate(
            f"{name} {_short(curve.values[-1])}".strip(),
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
