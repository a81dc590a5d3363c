"""The drawings of the chapter on training show the given numbers."""

import math

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.book.chapters.training import figures as figures
from tests.drawings import curves, texts


def test_law_each_run_is_a_line_and_the_guess_a_dotted_one():
    runs = {"none": [[2.0, 2.1], [2.2, 2.3]], "warm": [[1.0, 0.5], [1.5, 0.25]]}
    fig = figures.draw_runs({"post-norm": runs, "pre-norm": {"none": [[3.0]]}}, guess=2.18)
    texts(fig)
    one, two = fig.axes
    assert [ax.get_title() for ax in fig.axes] == ["post-norm", "pre-norm"]
    assert curves(one)[:4] == [*runs["none"], *runs["warm"]]
    assert [line.get_linestyle() for line in one.lines] == ["-", "-", "--", "--", ":"]
    assert list(one.lines[0].get_xdata()) == [10, 20]
    assert set(one.lines[-1].get_ydata()) == {2.18}
    assert one.get_ylim() == two.get_ylim()


@pytest.mark.parametrize(("gap", "smoothing"), [(0.0, 0.1), (3.0, 0.1), (12.0, 0.4), (5.0, 0.0)])
def test_oracle_the_drawn_loss_is_pytorchs(gap: float, smoothing: float):
    logits = torch.zeros(1, 10, dtype=torch.float64)
    logits[0, 4] = gap
    theirs = F.cross_entropy(logits, torch.tensor([4]), label_smoothing=smoothing).item()
    assert figures.smoothed_loss(gap, smoothing, 10) == pytest.approx(theirs)


def test_law_the_smoothed_loss_is_smallest_at_the_best_gap():
    best = figures.best_gap(0.1, 10)
    low = figures.smoothed_loss(best, 0.1, 10)
    assert all(figures.smoothed_loss(best + move, 0.1, 10) > low for move in (-0.01, 0.01))
    assert figures.best_gap(0.0, 10) == math.inf


def test_law_the_minimum_is_marked_if_there_is_one():
    marked = figures.draw_smoothing(0.1)
    assert texts(marked) == ["without smoothing", "0.50 at 4.5"]
    assert len(curves(marked.axes[0])) == 4
    assert texts(figures.draw_smoothing(0.0)) == ["without smoothing"]


def test_law_the_curves_of_the_loss_have_its_values_at_each_lead():
    lines = figures.draw_smoothing(0.3).axes[0].lines
    for line, smoothing in zip(lines[:2], (0.0, 0.3), strict=True):
        gaps = [0.0, 0.1, 3.0, 12.0]
        shown = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
        assert [shown[gap] for gap in gaps] == [figures.smoothed_loss(gap, smoothing, 10) for gap in gaps]


def test_law_each_schedule_has_its_peak_marked():
    fig = figures.draw_rates({"base": (512, 4000), "wide": (2048, 16_000)})
    texts(fig)
    marks = [line for line in fig.axes[0].lines if line.get_marker() == "o"]
    assert [line.get_xdata()[0] for line in marks] == [4000, 16_000]
    assert [line.get_ydata()[0] for line in marks] == pytest.approx([6.9877, 6.9877 / 4], rel=1e-4)
    rates = [line.get_ydata() for line in fig.axes[0].lines if line.get_marker() != "o"]
    assert [max(shown) for shown in rates] == pytest.approx([6.9877, 6.9877 / 4], rel=0.02)
    assert [line.get_label() for line in fig.axes[0].lines[::2]] == ["base", "wide"]


def test_law_each_panel_has_training_and_validation_lines():
    fig = figures.draw_sick_curves(
        {"healthy": ([[3.0, 1.0]], [[2.5, 1.5]]), "sick": ([[0.5, 0.0]], [[9.0, 3.0]])}, guess=2.0
    )
    assert texts(fig) == []
    healthy, sick = fig.axes
    assert healthy.get_title() == "healthy"
    assert [line.get_label() for line in healthy.lines[:2]] == ["training loss", "validation loss"]
    assert curves(healthy)[:2] == [[3.0, 1.0], [2.5, 1.5]]
    assert curves(sick)[:2] == [[0.5, 0.0], [8.0, 3.0]]  # cut off far above the panel
    assert [line.get_linestyle() for line in sick.lines] == ["-", "--", ":"]


def test_law_a_validation_loss_above_the_panel_is_named():
    fig = figures.draw_sick_curves({"a": ([[0.5]], [[9.0]]), "b": ([[0.5]], [[3.0]])}, guess=2.0)
    assert texts(fig) == ["validation above 4"]
