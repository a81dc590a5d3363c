"""The drawings of the chapter on training show the given numbers."""

import math
from itertools import pairwise

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


def test_law_the_loss_is_drawn_at_each_lead_and_its_minimum_is_marked_if_there_is_one():
    lines = figures.draw_smoothing(0.3).axes[0].lines
    for line, smoothing in zip(lines[:2], (0.0, 0.3), strict=True):
        shown = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
        for gap in (0.0, 0.1, 3.0, 12.0):
            assert shown[gap] == figures.smoothed_loss(gap, smoothing, 10)
    marked = figures.draw_smoothing(0.1)
    assert texts(marked) == ["without smoothing", "0.50 at 4.5"]
    assert len(curves(marked.axes[0])) == 4
    assert texts(figures.draw_smoothing(0.0)) == ["without smoothing"]


def test_law_each_schedule_has_its_peak_marked():
    fig = figures.draw_rates({"base": (512, 4000), "wide": (2048, 16_000)})
    texts(fig)
    marks = [line for line in fig.axes[0].lines if line.get_marker() == "o"]
    # the peaks, and where the first rate has fallen to half of its own
    assert [line.get_xdata()[0] for line in marks] == [4000, 16_000, 16_000]
    assert [line.get_ydata()[0] for line in marks] == pytest.approx(
        [6.9877, 6.9877 / 4, 6.9877 / 2], rel=1e-4
    )
    rates = [line.get_ydata() for line in fig.axes[0].lines if line.get_marker() != "o"]
    assert [max(shown) for shown in rates] == pytest.approx([6.9877, 6.9877 / 4], rel=0.02)
    assert [line.get_label() for line in fig.axes[0].lines[:4:2]] == ["base", "wide"]


def test_law_each_panel_has_training_and_validation_lines_and_its_symptom():
    fig = figures.draw_sick_curves(
        {"healthy": ([[3.0, 1.0]], [[2.5, 1.5]]), "sick": ([[0.5, 0.0]], [[9.0, 3.0]])},
        guess=2.0,
        symptoms={"sick": "training at 0"},
    )
    healthy, sick = fig.axes
    assert [(ax.get_title(), ax.get_xlabel()) for ax in fig.axes] == [
        ("healthy", ""), ("sick", "training at 0")]  # fmt: skip
    assert curves(healthy)[:2] == [[3.0, 1.0], [2.5, 1.5]]
    assert curves(sick)[:2] == [[0.5, 0.0], [8.0, 3.0]]  # cut off far above the panel
    assert [line.get_linestyle() for line in sick.lines] == ["-", "--", ":"]
    assert texts(fig) == ["training", "validation"]
    assert [text.xy for text in sick.texts] == [(20, 0.0), (20, 3.0)]  # where they end farthest apart


@pytest.mark.parametrize(("lowest", "arrows"), [(4.5, 1), (3.0, 0)])
def test_law_an_arrow_marks_a_validation_loss_above_the_panel(lowest: float, arrows: int):
    runs = {"a": ([[0.5]], [[9.0, lowest]]), "b": ([[0.0, 0.0]], [[3.0, 3.0]])}
    fig = figures.draw_sick_curves(runs, guess=2.0, symptoms={})
    assert sum(not text.get_text() for text in fig.axes[0].texts) == arrows


def test_law_the_marks_of_the_loss_are_at_minus_its_logarithm():
    fig = figures.draw_surprise([0.5, 0.25])
    assert texts(fig) == ["p = 0.5: loss 0.69", "p = 0.25: loss 1.39"]
    marked = [line for line in fig.axes[0].lines if line.get_marker() == "o"]
    assert [line.get_xdata()[0] for line in marked] == [0.5, 0.25]
    assert [line.get_ydata()[0] for line in marked] == pytest.approx([0.6931, 1.3863], abs=1e-4)


def test_law_the_bars_are_the_two_targets():
    fig = figures.draw_targets(5, 0.2, 1)
    one_hot, smoothed = ([bar.get_height() for bar in ax.patches] for ax in fig.axes)
    assert one_hot == [0, 1, 0, 0, 0]
    assert smoothed == pytest.approx([0.04, 0.84, 0.04, 0.04, 0.04])
    assert texts(fig) == ["1.00", "0.00 each", "0.84", "0.04 each"]


def test_oracle_the_steps_under_the_averages_are_those_of_pytorchs_adam():
    gradients = [1.0, -3.0, 0.5, 2.0]
    fig = figures.draw_averages(gradients, (0.9, 0.98))
    top, bottom = fig.axes
    assert curves(top)[0] == gradients
    x = torch.zeros((), dtype=torch.float64, requires_grad=True)
    adam, places = torch.optim.Adam([x], lr=1.0, betas=(0.9, 0.98), eps=0.0), [0.0]
    for gradient in gradients:
        x.grad = torch.tensor(gradient, dtype=torch.float64)
        adam.step()
        places.append(x.item())
    theirs = [before - after for before, after in pairwise(places)]
    assert [bar.get_height() for bar in bottom.patches] == pytest.approx(theirs)
    means, roots = curves(top)[1:]
    assert [mean / root for mean, root in zip(means, roots, strict=True)] == pytest.approx(theirs)


def test_law_an_update_is_a_row_of_boxes_with_a_way_back_to_the_second():
    fig = figures.draw_update({"batch": "pairs", "logits": "model(…)", "weights": "step()"})
    assert texts(fig)[:6] == ["batch", "pairs", "logits", "model(…)", "weights", "step()"]
    words = {text.get_text(): text.get_position()[0] for text in fig.axes[0].texts}
    (line,) = fig.axes[0].lines
    assert line.get_xdata()[[0, -1]] == pytest.approx([words["weights"], words["logits"]])


def test_law_losses_and_copies_stand_at_their_updates():
    fig = figures.draw_copying([[2.0, 1.0]], [[0.25], [0.5]], 20)
    losses, exact = fig.axes
    texts(fig)
    assert (curves(losses), curves(exact)) == ([[2.0, 1.0]], [[0.25], [0.5]])
    assert [list(ax.lines[0].get_xdata()) for ax in fig.axes] == [[10, 20], [20]]


def test_law_the_arrow_points_to_the_large_gradient():
    (ax,) = figures.draw_steps({"clipped": [1.0] * 12, "not clipped": [1.0] + [0.25] * 11}, 2).axes
    assert texts(ax.figure) == ["one huge gradient", "clipped", "not clipped"]
    assert curves(ax) == [[1.0] * 12, [1.0] + [0.25] * 11]
    assert list(ax.lines[0].get_xdata()) == list(range(1, 13))
    assert ax.texts[0].xy[0] == 2
