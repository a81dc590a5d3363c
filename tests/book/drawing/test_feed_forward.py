"""The drawings of the chapter on the feed-forward network show the given numbers."""

import pytest
import torch
from matplotlib.colors import to_rgba

from annotated_transformer.book.drawing import feed_forward as figures
from annotated_transformer.book.drawing.palette import QUERY, VALUE
from tests.drawings import hatched, texts


def places(slope):
    """Return each word's point in the plane of the hidden units."""
    points = torch.tensor(list(figures.CASES), dtype=torch.float64)
    return dict(zip(figures.CASES.values(), figures.bend(points, slope), strict=True))


def test_law_with_relu_each_unit_detects_one_word():
    found = {word: unit.tolist() for word, unit in places(0.0).items()}
    assert found == {"good": [1, 0], "not bad": [0, 1], "not good": [0, 0], "bad": [0, 0]}


@pytest.mark.parametrize("slope", [0.0, 0.25])
def test_law_the_distance_between_the_words_is_proportional_to_1_minus_the_slope(slope):
    found = places(slope)
    halfway = (found["good"] + found["not bad"]) / 2
    assert (halfway - found["bad"]).tolist() == pytest.approx([(1 - slope) / 2] * 2)
    assert torch.equal(found["bad"], found["not good"])


@pytest.mark.parametrize("slope", [0.5, 1.0])
def test_law_a_line_separates_the_words_unless_the_activation_is_linear(slope):
    fig = figures.draw_fold(slope)
    dashed = [line for line in fig.axes[1].lines if line.get_linestyle() == "--"]
    assert len(dashed) == (slope < 1)
    for line in dashed:
        (x1, x2), (y1, y2) = list(line.get_xdata()), list(line.get_ydata())
        assert x1 + y1 == pytest.approx(x2 + y2)
        sums = {word: (h.sum() - x1 - y1).item() for word, h in places(slope).items()}
        assert min(sums["good"], sums["not bad"]) > 0 > max(sums["bad"], sums["not good"])
    assert {"good", "bad", "not good", "not bad"} <= set(texts(fig))


def test_law_positions_have_a_row_each_and_inactive_units_are_hatched():
    fig = figures.draw_positions(
        [[1, 2, 0], [3, 4, 0]], [[0, 5], [6, 0]], [[0, 0, 7], [0, 0, 8]], words=["a", "b"]
    )
    assert {"a", "b", "5", "6", "7", "8", "hidden", "$W_1$, $b_1$", "$W_2$, $b_2$"} <= set(texts(fig))
    assert hatched(fig) == 2


def test_law_the_squares_are_counted_right():
    fig = figures.draw_squares()
    faces = [patch.get_facecolor() for patch in fig.axes[0].patches]
    assert faces.count(to_rgba(VALUE, 0.25)) == 4 + 8
    assert faces.count(to_rgba(QUERY, 0.25)) == 8 + 8
    assert {"8 of 12 squares", "8 of 16 squares", "⅔", "½"} <= set(texts(fig))


def test_law_the_line_of_each_model_starts_at_zero_units():
    fig = figures.draw_kept({"a": [2.0, 1.0], "b": [1.5, 0.5]}, [1, 2], none={"a": 5.0, "b": 4.0})
    lines = [list(line.get_ydata()) for line in fig.axes[0].lines[:2]]
    assert lines == [[5.0, 2.0, 1.0], [4.0, 1.5, 0.5]]
    assert [label.get_text() for label in fig.axes[0].get_xticklabels()] == ["0", "1", "2"]


def test_law_each_noun_is_a_mark_and_the_largest_three_are_named():
    rows = {"der": [0.0, 0.0], "das": [1.0, 3.0, 2.0, 0.5]}
    named = {"der": ["dog", "tree"], "das": ["house", "book", "room", "eye"]}
    fig = figures.draw_genders({"one": rows, "two": rows}, named=named)
    for ax in fig.axes:
        assert [list(line.get_xdata()) for line in ax.lines] == list(rows.values())
        assert [text.get_text() for text in ax.texts] == ["", "book, room, house"]


def test_law_a_bar_is_as_long_as_the_probability():
    fig = figures.draw_articles({"der nouns": {"Der": 0.9, "Die": 0.05, "Das": 0.0}, "x": {"Der": 0.5}})
    assert [bar.get_width() for bar in fig.axes[0].patches] == [0.9, 0.05, 0.0, 0.5]
    assert texts(fig) == ["der nouns", "0.9", "0.1", "0.0", "x", "0.5"]
