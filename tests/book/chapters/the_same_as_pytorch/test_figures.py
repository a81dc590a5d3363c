"""The drawings of differences show the given numbers."""

import math

import pytest
from matplotlib.patches import FancyArrowPatch

from annotated_transformer.book.chapters.the_same_as_pytorch import figures
from tests.drawings import bold, curves, marks, texts


def test_law_a_step_has_a_mark_at_its_gap_and_the_first_wrong_one_is_bold():
    found = {"a": 1e-16, "b": 0.0, "c": 1e-3, "d": 1.0}
    (ax,) = figures.draw_steps(found, tolerance=1e-12).axes
    assert texts(ax.figure) == ["rounding", "wrong from here"]
    assert marks(ax) == [[-16.0], [-17.0], [-3.0], [0.0]]
    labels = ax.get_yticklabels()
    assert [label.get_text() for label in labels] == list(found)
    assert [label.get_text() for label in labels if label.get_weight() == "bold"] == ["c"]
    assert (
        len({line.get_marker() for line in ax.lines[:2]} & {line.get_marker() for line in ax.lines[2:]}) == 0
    )
    assert ax.yaxis_inverted()


def test_law_without_a_wrong_step_nothing_is_bold():
    fig = figures.draw_steps({"a": 1e-16, "b": 1e-15}, tolerance=1e-12)
    assert texts(fig) == ["rounding", "nothing is wrong"]
    assert [t.get_text() for t in fig.axes[0].get_yticklabels() if t.get_weight() == "bold"] == []
    nan = figures.draw_steps({"a": 1e-16, "b": math.inf}, tolerance=1e-12)
    assert "wrong from here" in texts(nan)


def test_law_the_spacing_is_named_between_powers_of_two():
    fig = figures.draw_spacing([1, 1.5, 2, 3, 4], 2.6, rounded=3)
    assert texts(fig) == ["1", "2", "4", "0.5 apart", "1 apart", "2.6 becomes 3"]
    ticks = [line.get_xdata()[0] for line in fig.axes[0].lines[1:6]]
    (arrow,) = (patch for patch in fig.axes[0].patches if isinstance(patch, FancyArrowPatch))
    assert arrow._posA_posB[1][0] == ticks[3]  # at 3


def test_law_errors_are_drawn_as_logarithms():
    fig = figures.draw_sums([16, 256], {"bound": [1e-6, 1e-5], "one": [1e-7, 2e-7]})
    assert curves(fig.axes[0]) == [[-6.0, -5.0], [-7.0, -6.7]]
    assert texts(fig) == ["bound", "one"]
    assert [t.get_text() for t in fig.axes[0].get_xticklabels()] == ["16", "256"]


def test_law_mistakes_are_in_order_of_their_gaps_beside_the_formats():
    (ax,) = figures.draw_detection({"small": 1e-6, "large": 1.0}, {"float64": 1e-15, "float32": 1e-7}).axes
    assert texts(ax.figure) == ["large", "small", "float64", "float32"]
    assert marks(ax) == [[0.0], [-6.0]]
    assert [line.get_xdata()[0] for line in ax.lines[2:]] == [-15.0, -7.0]


def test_law_bars_are_shares_of_each_cause():
    fig = figures.draw_ulps({"copies": {"0": 1, "1–3": 3}, "padding": {"0": 3, "1–3": 2}})
    assert [ax.get_title() for ax in fig.axes] == ["copies", "padding"]
    heights = [[patch.get_height() for patch in ax.patches] for ax in fig.axes]
    assert heights == [[25, 75], [60, 40]]
    for ax in fig.axes:
        assert [t.get_text() for t in ax.get_xticklabels()] == ["0", "1–3"]
    assert fig.axes[0].patches[0].get_edgecolor() != fig.axes[1].patches[0].get_edgecolor()


def test_law_each_parameter_has_a_mark_for_each_copy():
    fig = figures.draw_gradients(
        {"ours": [1e-16, 0.0, 1e-15], "detached": [0.1, 1.0, 1e-16]}, tolerance=1e-12
    )
    heights = [list(line.get_ydata()) for line in fig.axes[0].lines]
    assert heights == [[-16.0, -17.0, -15.0], [-1.0, 0.0, -16.0]]
    assert texts(fig) == ["ours", "detached"]
    assert [name.xy[1] for name in fig.axes[0].texts] == [-16, -1]  # at the medians


def test_law_the_first_part_that_differs_is_bold():
    fig = figures.draw_inside({"query": 1e-16, "heads": 0.5, "output": 0.1}, tolerance=1e-12)
    assert texts(fig) == ["query", "agrees", "heads", "differs", "output", "differs"]
    assert bold(fig) == ["heads"]


@pytest.mark.parametrize("count", [2, 3])
def test_law_a_check_mark_for_each_hit_and_their_sums_below(count):
    rows = {f"m{row}": [row == 0, True] for row in range(count)}
    fig = figures.draw_grid(rows, ["law", "oracle"], groups=(1,))
    lines = figures.draw_grid({"m": [True] * 4}, list("abcd"), groups=(1, 2)).axes[0]
    columns = [text.get_position()[0] for text in lines.texts if text.get_text() in "abcd"]
    assert [sum(x < line.get_xdata()[0] for x in columns) for line in lines.lines] == [1, 3]
    shown = texts(fig)
    assert shown.count("✓") == 1 + count
    assert shown[:5] == ["law", "1", "oracle", str(count), f"noticed, of {count}"]
