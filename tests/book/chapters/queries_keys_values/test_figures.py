"""The drawings of the chapter on queries, keys, and values show the given numbers."""

import pytest
from matplotlib.colors import to_rgba

from annotated_transformer.book.chapters.queries_keys_values import figures as figures
from annotated_transformer.plotting.palette import OUTPUT, QUERY, VALUE
from tests.drawings import marks, texts

ROLES = ["background"] * 16
ROLES[2], ROLES[9] = "subject", "verb"
WORDS = [f"w{number}" for number in range(16)]


def test_law_a_cell_is_filled_by_its_weight_and_names_its_role():
    weights = [0.0] * 16
    weights[9], weights[2] = 0.75, 0.25
    fig = figures.draw_scene(ROLES, WORDS, weights, {"": ["<s>", "dog"]})
    cells = [patch for patch in fig.axes[0].patches if patch.get_facecolor()[:3] == to_rgba(VALUE)[:3]]
    alphas = [patch.get_facecolor()[3] for patch in cells]
    assert alphas == pytest.approx([0.4 * weight for weight in weights])
    framed = [patch for patch in fig.axes[0].patches if not patch.get_fill()]
    assert [(patch.get_x(), patch.get_y()) for patch in framed] == [(cells[9].get_x(), cells[9].get_y())]
    assert texts(fig)[:18] == [*WORDS[:3], "subject", *WORDS[3:10], "verb", *WORDS[10:]]
    assert texts(fig)[18:20] == ["<s>", "dog"]


def test_law_a_scene_without_weights_has_a_caption_for_each_line():
    fig = figures.draw_scene(ROLES, WORDS, None, {"one": ["<s>", "a", "b", "c"], "two": ["<s>", "d"]})
    found = [text for text in texts(fig) if text in ("one", "two", "<s>", "a", "b", "c", "d")]
    assert found == ["one", "<s>", "a", "b", "c", "two", "<s>", "d"]


def test_law_lines_are_as_wide_as_the_weights():
    panels = {
        "A": ("9", [0.5, 0.3, 0], [("8", "v"), ("10", "w"), ("12", "x")], "o"),
        "B": ("1", [1.0], [("1", "y")], "p"),
    }
    (ax,) = figures.draw_dictionaries(panels).axes
    for color in (QUERY, VALUE):
        lines = [line for line in ax.lines if line.get_color() == color and line.get_alpha()]
        assert [line.get_linewidth() for line in lines] == pytest.approx([4.5, 2.7, 9.0])
    assert {"A", "B", "8", "10", "12", "v", "o", "p", "0.5", "0.3", "0", "1"} <= set(texts(ax.figure))


def test_law_the_curve_passes_the_answers_and_the_points_are_the_entries():
    fig = figures.draw_smoother([8, 10], [12, 14], [6, 9, 12], [12.04, 13.0, 14.0])
    curve, points = fig.axes[0].lines
    assert curve.get_color() == OUTPUT
    assert list(curve.get_ydata()) == [12.0, 13.0, 14.0]
    assert (list(points.get_xdata()), list(points.get_ydata())) == ([8, 10], [12, 14])


def test_law_each_test_has_a_bar_of_the_mean_and_a_mark_for_each_seed():
    shares = {"mixed": {"a": [1.0, 0.9], "b": [0.5, 0.4]}, "typical": {"a": [0.2, 0.3], "b": [0.1, 0]}}
    fig = figures.draw_transfer(shares, {"a": "one", "b": "two"}, chance=1 / 3)
    assert [marks(ax) for ax in fig.axes] == [[[1.0, 0.9], [0.5, 0.4]], [[0.2, 0.3], [0.1, 0]]]
    bars = [bar.get_width() for ax in fig.axes for bar in ax.patches]
    assert bars == pytest.approx([0.95, 0.45, 0.25, 0.05])
    assert texts(fig) == ["95%", "45%", "25%", "5%"]
    chance = [line for line in fig.axes[0].lines if line.get_linestyle() == ":"]
    assert list(chance[0].get_xdata()) == [1 / 3, 1 / 3]
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["mixed", "typical"]
    assert [label.get_text() for label in fig.axes[0].get_yticklabels()] == ["a\none", "b\ntwo"]
