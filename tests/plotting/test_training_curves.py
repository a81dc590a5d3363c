"""Training curves show each reported number at its step."""

import dataclasses
import math

import numpy as np
import pytest
from matplotlib.figure import Figure

from annotated_transformer.plotting.training_curves import describe_curves, draw_curves
from tests.run_reports import REPORTS

LABELS = {
    "training_loss": "training loss",
    "validation_loss": "validation loss",
    "lr": "learning rate",
    "gradient_norm": "gradient norm",
    "encoder_cosine": "encoder cosine",
    "cross_attention_entropy": "cross-attention entropy",
}


def schedule(step: int) -> float:
    return float(np.interp(step, [0, 11, 23, 31], [0.0, 0.001, 0.003, 0.002]))


def lines(figure: Figure) -> dict[str, tuple[list[float], list[float]]]:
    """Return the steps and values of each plotted line, by its name."""
    drawn = [line for ax in figure.axes for line in ax.lines]
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in drawn}


@pytest.fixture(scope="module")
def drawn() -> Figure:
    return draw_curves(REPORTS)


def test_law_every_number_is_drawn_at_its_step(drawn: Figure):
    assert lines(drawn) == {
        label: ([11, 23, 31], [getattr(report, name) for report in REPORTS]) for name, label in LABELS.items()
    }
    for ax in drawn.axes:
        assert ax.get_ylim()[0] <= min(0, *(value for line in ax.lines for value in line.get_ydata()))
        assert ax.get_xlim() == (0, 31)


def test_law_metrics_that_were_not_measured_are_not_drawn(drawn: Figure):
    missing = dict.fromkeys(("validation_loss", "encoder_cosine", "cross_attention_entropy"))
    figure = draw_curves([dataclasses.replace(report, **missing) for report in REPORTS])
    assert set(lines(figure)) == {"training loss", "learning rate", "gradient norm"}
    assert len(figure.axes) == len(drawn.axes) - 2
    gap = [REPORTS[0], dataclasses.replace(REPORTS[1], encoder_cosine=math.nan), REPORTS[2]]
    assert lines(draw_curves(gap))["encoder cosine"] == ([11, 31], [0.99, -0.25])
    assert "nan" not in describe_curves(gap)


@pytest.mark.message
def test_message_no_reports_or_the_schedule_of_another_run():
    for use in (draw_curves, describe_curves):
        with pytest.raises(ValueError, match=r"there are no reports to draw; train for an epoch or more"):
            use([])
    message = r"gives 0\.002 at step 11, but the report has a learning rate of 0\.001; give the schedule of"
    with pytest.raises(ValueError, match=message):
        draw_curves(REPORTS, lambda step: 2 * schedule(step))
