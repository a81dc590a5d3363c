"""The curves of a training: how its loss fell, and what else was watched on the way."""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from annotated_transformer.book.figures import new_figure, show_figure
from annotated_transformer.book.page import Page
from annotated_transformer.book.palette import FIRST, SECOND
from annotated_transformer.training.keeper import METRICS
from annotated_transformer.training.report import Report

CAPTION = (
    "Training loss is taken with smoothing and dropout while the weights move, validation loss with neither: "
    "compare each with itself alone. Near 1, the encoder's cosine says that all words look alike to it, and "
    "the entropy that the decoder reads them all alike."
)
PANELS = {  # by unit: the numbers of a report, and what they are
    "nats per token": {"training_loss": "training loss", "validation_loss": "validation loss"},
    "rate": {"rate": "learning rate"},
    "norm": {"gradient_norm": "gradient norm"},
    "1 is the highest": {
        "encoder_cosine": "encoder cosine",
        "cross_attention_entropy": "cross-attention entropy",
    },
}
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": FIRST, "linestyle": "-", "marker": "o"},
    {"color": SECOND, "linestyle": "--", "marker": "s"},
)
MARKS = 12  # on a line, about: one for each of many epochs would make a band of it


class Curve(NamedTuple):
    """What a number was after these steps."""

    label: str
    steps: list[int]
    values: list[float]

    def summary(self) -> str:
        """Say from where to where it went, in a few words."""
        if len(self.values) == 1:
            return f"{self.label} {self.values[0]:.3g}"
        return f"{self.label} {self.values[0]:.3g} → {self.values[-1]:.3g}"

    def description(self) -> str:
        """Say where it begins, ends, and is lowest and highest."""
        at = [f"{value:.3g} at step {step}" for step, value in zip(self.steps, self.values, strict=True)]
        if len(at) == 1:
            return f"{self.label}: {at[0]}."
        low, high = (at[self.values.index(end(self.values))] for end in (min, max))
        return f"{self.label}: from {at[0]} to {at[-1]}, lowest {low}, highest {high}."


def plot_curves(reports: list[Report]) -> Page:
    """Show the curves of a training, with words that can be read instead.

    The reports are what `train` returned, or what `read_reports` finds in its folder.

    Raises:
        ValueError: There are no reports.
    """
    return show_figure(draw_curves(reports), alt=describe_curves(reports), caption=CAPTION)


def read_reports(folder: str | Path) -> list[Report]:
    """Return the reports that a training has left in its folder so far.

    Raises:
        FileNotFoundError: There are none.
        ValueError: A line is not a report.
    """
    path = Path(folder) / METRICS
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {path}; give the folder that a training writes to, after its first epoch"
        )
    reports = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            reports.append(Report(**json.loads(line)))
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"{path}, line {number} is not a report of a training ({error}); mend it, or take it out"
            ) from error
    return reports


def draw_curves(reports: list[Report]) -> Figure:
    """Draw loss, learning rate, gradient norm and health over the steps; what nobody measured is left out.

    Raises:
        ValueError: There are no reports.
    """
    panels = _panels(reports)
    fig, _ = new_figure(len(panels), 1, height=2.4 * len(panels))
    for ax, (unit, curves) in zip(fig.axes, panels.items(), strict=True):
        for curve, look in zip(curves, LOOKS, strict=False):
            every = math.ceil(len(curve.steps) / MARKS)
            ax.plot(curve.steps, curve.values, label=curve.label, markevery=every, **look)
        ax.set_title("\n".join(curve.summary() for curve in curves), loc="right")  # leftwards there is room
        ax.set(xlim=(0, 1.05 * reports[-1].step), ylabel=unit, xlabel="updates of the weights")
        ax.set_ylim(bottom=min(0.0, *(value for curve in curves for value in curve.values)))
        ax.label_outer()
        if len(curves) > 1:
            ax.legend()
    fig.align_ylabels()
    return fig


def describe_curves(reports: list[Report]) -> str:
    """Say of each curve where it begins and ends, and where it is lowest and highest.

    Raises:
        ValueError: There are no reports.
    """
    curves = [curve for curves in _panels(reports).values() for curve in curves]
    last = reports[-1]
    head = f"Curves of a training of {last.step} steps, in epoch {last.epoch}."
    return " ".join([head, *(curve.description().capitalize() for curve in curves)])


def _panels(reports: list[Report]) -> dict[str, list[Curve]]:
    if not reports:
        raise ValueError("there are no reports to draw; train for an epoch or more")
    panels = {
        unit: [_curve(reports, name, label) for name, label in names.items()]
        for unit, names in PANELS.items()
    }
    there = {unit: [curve for curve in curves if curve.steps] for unit, curves in panels.items()}
    return {unit: curves for unit, curves in there.items() if curves}


def _curve(reports: list[Report], name: str, label: str) -> Curve:
    """Return the reports' numbers of that name, and no NaN."""
    found = [(report.step, getattr(report, name)) for report in reports]
    found = [(step, value) for step, value in found if value is not None and math.isfinite(value)]
    return Curve(label, [step for step, _ in found], [value for _, value in found])
