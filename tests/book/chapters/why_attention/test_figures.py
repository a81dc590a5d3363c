"""The drawings of the chapter on why attention is needed show the given numbers."""

import pytest

from annotated_transformer.book.chapters.why_attention import figures as figures
from tests.drawings import curves, texts


def test_law_lines_are_as_wide_as_the_weights():
    fig = figures.draw_two_ways(["a", "b", "c"], [0.5, 0.2, 0.3], output="d")
    assert [line.get_linewidth() for line in fig.axes[0].lines] == pytest.approx([4.5, 1.8, 2.7])
    assert {"a", "b", "c", "d", "translation", "0.5", "0.2", "0.3"} <= set(texts(fig))


def test_law_gradients_are_drawn_as_logarithms_down_to_the_edge():
    fig = figures.draw_decay({"one": [1.0, 0.01, 1e-30, 0.0], "two": [1e3, 1.0, 1.0, 1.0]})
    lines = curves(fig.axes[0])
    assert lines == [[0.0, -2.0, -12.0, -12.0], [3.0, 0.0, 0.0, 0.0]]


def test_law_a_line_is_the_mean_of_its_marks():
    fig = figures.draw_copies({"one": [[1.0, 0.5], [0.2, 0.4]]}, [4, 8], guess=0.125)
    line, *marks, level = fig.axes[0].lines
    assert [round(float(y), 6) for y in line.get_ydata()] == [0.75, 0.3]
    assert [list(mark.get_ydata()) for mark in marks] == [[1.0, 0.5], [0.2, 0.4]]
    assert set(level.get_ydata()) == {0.125}
    assert texts(fig) == ["a guess"]


def test_law_each_line_of_depths_has_its_name():
    fig = figures.draw_depths({"one": [10, 1000], "two": [5, 5]}, [1, 16])
    assert [line.get_label() for line in fig.axes[0].lines] == ["one", "two"]
    assert fig.axes[0].get_legend() is not None
    assert curves(fig.axes[0]) == [[10, 1000], [5, 5]]


def test_law_no_line_is_left_out_when_there_are_more_than_looks():
    lines = {f"{size} numbers": [[0.5]] for size in range(6)}
    (ax,) = figures.draw_copies(lines, [4], guess=0.1).axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(lines)
