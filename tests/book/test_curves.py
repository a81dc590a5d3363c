"""What the curves of a training promise: every number of every report, in a drawing and in words."""

import dataclasses
import json
import math
from pathlib import Path

import pytest

from annotated_transformer.book.curves import (
    CAPTION,
    describe_curves,
    draw_curves,
    plot_curves,
    read_reports,
)
from annotated_transformer.book.figures import check_legible, svg
from annotated_transformer.training.keeper import METRICS, Keeper
from annotated_transformer.training.report import Report

REPORTS = [
    Report(
        step=step,
        epoch=epoch,
        training_loss=training_loss,
        validation_loss=validation_loss,
        rate=rate,
        gradient_norm=norm,
        encoder_cosine=cosine,
        cross_attention_entropy=entropy,
        tokens_per_second=1009.0,
    )
    for step, epoch, training_loss, validation_loss, rate, norm, cosine, entropy in [
        (11, 1, 7.25, 5.5, 0.001, 1.5, 0.99, 0.999),
        (23, 2, 4.125, 3.0, 0.003, 0.75, 0.5, 0.75),
        (31, 3, 3.5, 3.25, 0.002, 0.875, -0.25, 0.5),
    ]
]
LABELS = {
    "training_loss": "training loss",
    "validation_loss": "validation loss",
    "rate": "learning rate",
    "gradient_norm": "gradient norm",
    "encoder_cosine": "encoder cosine",
    "cross_attention_entropy": "cross-attention entropy",
}


def lines(reports: list[Report]) -> dict[str, tuple[list[float], list[float]]]:
    """Return what is drawn: by the name of a line its steps and its numbers."""
    found = [line for ax in draw_curves(reports).axes for line in ax.lines]
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in found}


def test_law_every_number_is_drawn_at_its_step():
    wanted = {
        label: ([11, 23, 31], [getattr(report, name) for report in REPORTS]) for name, label in LABELS.items()
    }
    assert lines(REPORTS) == wanted
    for ax in draw_curves(REPORTS).axes:
        assert ax.get_ylim()[0] <= min(0, *(value for line in ax.lines for value in line.get_ydata()))
        assert ax.get_xlim()[0] == 0
        assert ax.get_xlim()[1] > 31


def test_law_what_was_not_measured_is_not_drawn():
    blind = [
        dataclasses.replace(r, validation_loss=None, encoder_cosine=None, cross_attention_entropy=None)
        for r in REPORTS
    ]
    assert set(lines(blind)) == {"training loss", "learning rate", "gradient norm"}
    assert len(draw_curves(blind).axes) == len(draw_curves(REPORTS).axes) - 1
    gap = [REPORTS[0], dataclasses.replace(REPORTS[1], encoder_cosine=math.nan), REPORTS[2]]
    assert lines(gap)["encoder cosine"] == ([11, 31], [0.99, -0.25])
    assert "nan" not in describe_curves(gap)


def test_law_the_words_say_ends_and_extremes():
    words = describe_curves(REPORTS)
    assert words.startswith(
        "Curves of a training of 31 steps, in epoch 3. Training loss: from 7.25 at step 11"
    )
    assert (
        "Validation loss: from 5.5 at step 11 to 3.25 at step 31, lowest 3 at step 23, highest 5.5" in words
    )
    assert "Encoder cosine: from 0.99 at step 11 to -0.25 at step 31, lowest -0.25 at step 31" in words
    for label in LABELS.values():
        assert f"{label.capitalize()}: " in words
    assert "Learning rate: 0.001 at step 11. Gradient norm" in describe_curves(REPORTS[:1])


def test_law_the_page_has_the_words_and_the_drawing():
    page = plot_curves(REPORTS)
    assert repr(page) == f"{describe_curves(REPORTS)}\n\n{CAPTION}"
    assert f'alt="{describe_curves(REPORTS)}"' in page._repr_html_()
    titles = [ax.get_title(loc="right") for ax in draw_curves(REPORTS).axes]
    assert titles[0] == "training loss 7.25 → 3.5\nvalidation loss 5.5 → 3.25"
    assert svg(draw_curves(REPORTS)) == svg(draw_curves(REPORTS))


@pytest.mark.parametrize("epochs", [1, 13, 149])
def test_law_a_line_has_few_marks_and_fits_a_phone(epochs: int):
    numbers = {"rate": 1.01e-05, "encoder_cosine": -0.0101, "cross_attention_entropy": 0.0101}
    reports = [dataclasses.replace(REPORTS[0], step=263 * (1 + i), **numbers) for i in range(epochs)]
    figure = draw_curves(reports)
    check_legible(figure)
    for line in (line for ax in figure.axes for line in ax.lines):
        assert len(line.get_xdata()[:: line.get_markevery()]) == {1: 1, 13: 7, 149: 12}[epochs]


def test_law_what_a_keeper_has_written_is_read(tmp_path: Path):
    with Keeper(tmp_path) as keeper:
        for report in REPORTS:
            keeper.report(dataclasses.asdict(report))
        assert read_reports(tmp_path) == REPORTS


@pytest.mark.message
def test_message_no_reports(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"no .*metrics\.jsonl; give the folder that a training writ"):
        read_reports(tmp_path)
    for use in (draw_curves, describe_curves, plot_curves):
        with pytest.raises(ValueError, match=r"there are no reports to draw; train for an epoch or more"):
            use([])


@pytest.mark.message
@pytest.mark.parametrize("line", ['{"step": 3', '{"step": 3}', "7", json.dumps({"loss": 3})])
def test_message_a_line_that_is_no_report(tmp_path: Path, line: str):
    (tmp_path / METRICS).write_text(json.dumps(dataclasses.asdict(REPORTS[0])) + f"\n{line}\n")
    with pytest.raises(
        ValueError, match=r"metrics\.jsonl, line 2 is not a report of a training \(.*\); mend"
    ):
        read_reports(tmp_path)
