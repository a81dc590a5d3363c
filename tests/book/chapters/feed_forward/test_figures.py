"""The drawings of the chapter on the feed-forward network show the given numbers."""

import pytest
import torch

from annotated_transformer.book.chapters.feed_forward import figures as figures
from annotated_transformer.plotting.palette import FIRST
from tests.drawings import hatched, marks, texts


@pytest.mark.parametrize("angle", [0.0, 30.0, 45.0, 60.0, 120.0, 135.0, 200.0])
def test_law_a_line_misjudges_a_word_and_the_two_units_none(angle):
    distance, ahead = figures.best_line(angle)
    wrong = figures.misjudged(angle, distance, ahead)
    assert len(wrong) == (2 if angle % 90 == 0 else 1)
    fig = figures.draw_lines(angle)
    one, two = fig.axes
    assert [line.get_marker() for line in one.lines].count("x") == len(wrong)
    assert "x" not in [line.get_marker() for line in two.lines]
    for ax, exceptions in ((one, wrong), (two, [])):
        sides = [patch.get_path() for patch in ax.patches]
        for point, word in figures.CASES.items():
            shaded = any(side.contains_point(point) for side in sides)
            assert (shaded == (word in ("good", "not bad"))) == (word not in exceptions)
        assert {"good", "bad", "not good", "not bad"} == {text.get_text() for text in ax.texts}


def test_law_the_shaded_words_are_those_of_the_units_worked_out_by_hand():
    two = figures.draw_lines(30.0).axes[1]
    for x, y in ((1.0, 0.6), (1.0, 0.4), (-1.0, -0.6), (-1.0, -0.4)):
        verdict = 2 * max(0, x + y - 1) + 2 * max(0, -x - y - 1) - 1
        assert any(patch.get_path().contains_point((x, y)) for patch in two.patches) == (verdict > 0)


def test_law_positions_have_a_row_each_and_inactive_units_are_hatched():
    fig = figures.draw_positions(
        {"a": [1.0, 2.0, 0.0], "b": [3.0, 4.0, 0.0]},
        {"a": [0.0, 5.0], "b": [6.0, 0.0]},
        {"a": [0.0, 0.0, 7.0], "b": [0.0, 0.0, 8.0]},
    )
    assert {"a", "b", "5", "6", "7", "8", "hidden", "$W_1$, $b_1$", "$W_2$, $b_2$"} <= set(texts(fig))
    assert hatched(fig) == 2


def test_law_the_line_of_each_model_starts_at_zero_units():
    fig = figures.draw_kept({"a": [2.0, 1.0], "b": [1.5, 0.5]}, [1, 2], none={"a": 5.0, "b": 4.0})
    lines = [list(line.get_ydata()) for line in fig.axes[0].lines[:2]]
    assert lines == [[5.0, 2.0, 1.0], [4.0, 1.5, 0.5]]
    assert [label.get_text() for label in fig.axes[0].get_xticklabels()] == ["0", "1", "2"]


def test_law_each_noun_is_a_mark_and_the_largest_three_are_named():
    rows = {"der": [0.0, 0.0], "das": [1.0, 3.0, 2.0, 1.0, 0.0]}
    named = {"der": ["dog", "tree"], "das": ["house", "book", "room", "eye", "bed"]}
    fig = figures.draw_genders({"one": rows, "two": rows}, named=named)
    for ax in fig.axes:
        assert [x for line in ax.lines for x in line.get_xdata()] == [1.0, 1.0, 2.0, 3.0]
        assert {line.get_color() for line in ax.lines} == {FIRST}  # the unit responds to das
        assert [text.get_text() for text in ax.texts] == ["2 at 0", "", "1 at 0", "book, room, house"]


def test_law_the_memory_adds_the_values_of_units_above_zero():
    fig = figures.draw_memory([5, 6], [[7, 8], [9, 10]], [-3, 4], [[11, 12], [13, 14]], [15, 16])
    words = texts(fig)
    numbers = [word for word in words if word.lstrip("−").isdigit()]
    assert numbers == "5 6 7 8 9 10 −3 4 0 4 11 12 13 14 15 16".split()
    assert hatched(fig) == 1


def test_law_each_run_has_its_loss_in_the_row_of_its_block():
    losses = {"two": {"A": [1.0, 1.0], "F": [0.0, 0.25]}, "three": {"A": [1.0, 0.5], "F": [0.0, 0.0]}}
    fig = figures.draw_losses(losses)
    for ax, blocks in zip(fig.axes, losses.values(), strict=True):
        assert marks(ax) == list(blocks.values())
        assert [line.get_ydata()[0] for line in ax.lines[1:]] == [0, 1]
    assert [label.get_text() for label in fig.axes[0].get_yticklabels()] == ["A", "F"]


def test_law_a_cell_is_filled_where_its_unit_is_active():
    fig = figures.draw_grids(
        {"before": torch.tensor([1.0, -1, 2, 0]), "after": torch.tensor([-1.0, 0, 0, 3])}
    )
    assert texts(fig) == ["before: 2 of 4 units", "after: 1 of 4 units"]
    filled = [patch.get_facecolor()[3] == 1.0 for patch in fig.axes[0].patches]
    assert filled == [True, False, True, False, False, False, False, True]


def test_law_a_bar_is_as_long_as_the_probability():
    fig = figures.draw_articles({"der nouns": {"Der": 0.9, "Die": 0.05, "Das": 0.0}, "x": {"Der": 0.5}})
    assert [bar.get_width() for bar in fig.axes[0].patches] == [0.9, 0.05, 0.0, 0.5]
    assert texts(fig) == ["der nouns", "0.9", "0.1", "0.0", "x", "0.5"]
