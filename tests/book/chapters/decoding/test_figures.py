"""The drawings of the chapter on decoding show the given searches, shares, and counts."""

import pytest
from matplotlib.colors import same_color, to_rgba
from matplotlib.patches import Rectangle

from annotated_transformer.book.chapters.decoding import figures as figures
from annotated_transformer.book.chapters.decoding import step_figures
from annotated_transformer.plotting.palette import FIRST as VIOLET
from tests.drawings import bold, curves, hatched, texts

END = "</s>"
TABLE = {"": {"A": 0.6, "B": 0.4}, "A": {"c": 0.5, "d": 0.5}}
FIRST = ({"A": 0.6, "B": 0.4}, ["A", "B"])
SECOND = ({"A c": 0.3, "A d": 0.3, f"B {END}": 0.4}, [f"B {END}", "A c"])
SEARCHES = {1: ([FIRST], "A"), 2: ([FIRST, SECOND], "B, with 0.4")}


def test_law_kept_texts_are_bold_and_dropped_ones_are_struck_through():
    fig = figures.draw_tree(TABLE, SEARCHES, 2, end=END)
    key = ["kept", "beam of 2 returns:  B, with 0.4"]
    assert bold(fig) == ["A", "0.6", "c", "0.3", "B", "0.4", "end", "0.4", *key]
    struck = [line.get_ydata()[0] for line in fig.axes[0].lines if line.get_zorder() == 1]
    dropped = [text.get_position()[1] for text in fig.axes[0].texts if text.get_text() in ("d", "dropped")]
    assert struck == dropped
    assert texts(fig).count("end") == 3  # each text ends once, computed or not
    assert {"step 1", "step 2", "step 3", "beam of 1 returns:  A"} <= set(texts(fig))
    branches = [line.get_linestyle() for line in fig.axes[0].lines if line.get_zorder() == 0]
    assert branches == ["-", "-", ":", "--", ":", "-", "-"]


def test_law_the_likeliest_finished_text_is_framed_once_there_is_one():
    (early,) = figures.draw_tree(TABLE, SEARCHES, 1, end=END).axes
    assert not [patch for patch in early.patches if patch.get_linewidth() == 3]
    last = ({f"A c {END}": 0.3}, [f"A c {END}"])
    for steps in ([FIRST, SECOND], [FIRST, SECOND, last]):
        (late,) = figures.draw_tree(TABLE, {2: (steps, "B")}, 2, end=END).axes
        (frame,) = [patch for patch in late.patches if patch.get_linewidth() == 3]
        found = [text.get_text() for text in late.texts if frame.get_bbox().contains(*text.get_position())]
        assert {"end", "0.4"} <= set(found)
        assert "0.3" not in found


def test_law_the_number_nearer_to_zero_wins():
    fig = figures.draw_penalized({"a": {"x": -2.0, "x y": -1.5}, "b": {"x": -0.5, "x y": -0.6}})
    assert [bar.get_width() for bar in fig.axes[0].patches] == [-2.0, -1.5, -0.5, -0.6]
    assert bold(fig) == ["x y wins", "x wins"]
    assert [text for text in texts(fig) if text[0] == "−"] == ["−2.00", "−1.50", "−0.50", "−0.60"]


def test_law_each_penalty_is_a_line_over_the_lengths():
    fig = figures.draw_penalties([1, 2, 3], {"length": [1, 2, 3], "none": [1, 1, 1]})
    assert curves(fig.axes[0]) == [[1, 2, 3], [1, 1, 1]]
    assert texts(fig) == ["length", "none"]


def test_law_prefixes_are_as_wide_as_they_are_likely_and_filled_if_likelier_than_the_known_text():
    fig = figures.draw_prefixes(TABLE, 0.3, end=END)
    bars = [patch for patch in fig.axes[0].patches if isinstance(patch, Rectangle)]
    assert [round(bar.get_width() / 45, 3) for bar in bars] == [0.6, 0.4, 0.3, 0.3, 0.4, 0.3, 0.3]
    filled = [same_color(bar.get_facecolor(), to_rgba(VIOLET, 0.45)) for bar in bars]
    assert filled == [True, True, False, False, True, False, False]
    assert [text for text in texts(fig) if "can win" in text] == ["2 can win", "1 can win", "0 can win"]
    assert bars[3].get_x() == pytest.approx(bars[2].get_x() + bars[2].get_width())  # side by side
    (child,) = (
        bar for bar in bars if bar.get_y() == bars[2].get_y() and bar.get_width() == bars[1].get_width()
    )
    assert child.get_x() == bars[1].get_x()  # below the prefix that it continues


def test_law_the_long_way_takes_a_word_of_each_column():
    fig = figures.draw_exit([["one", "un"], ["two", "deux"], ["three", "trois"]], ends=0.0031)
    shown = texts(fig)
    assert len(bold(fig)) == 3
    assert {"one", "un", "two", "deux", "three", "trois", "start", "end"} <= set(shown)
    assert any("8 right ways" in text and "1/8 = 0.12" in text for text in shown)
    assert any(text.endswith("0.003") for text in shown)
    assert bold(fig) != ["one", "two", "three"]  # words of several rows
    spots = {text.get_position() for text in fig.axes[0].texts if text.get_text() in bold(fig)}
    path = set(zip(*fig.axes[0].lines[0].get_data(), strict=True))
    assert spots <= path


def test_law_the_first_setting_has_both_shares_and_the_others_one():
    fig = figures.draw_outputs(
        {"one": [(1.0, 0.0), (0.25, 0.5)], "two": [(0.5, 0.5), (0.75, 0.0)]},
        beams=[1, 8],
        words=("right", "empty"),
    )
    assert curves(fig.axes[0]) == [[50, 75], [100, 25], [0, 50]]
    assert [label.get_text() for label in fig.axes[0].get_xticklabels()] == ["1", "8"]
    assert texts(fig) == ["right", "empty", "right, in each other setting"]


def test_law_bleu_and_length_have_a_line_for_each_penalty():
    rows = [
        {"beam": 1, "bleu": {"a": 40.0, "b": 41.0}, "length_ratio": {"a": 0.9, "b": 0.95}},
        {"beam": 4, "bleu": {"a": 42.0, "b": 43.0}, "length_ratio": {"a": 0.8, "b": 0.97}},
    ]
    left, right = figures.draw_beams(rows, {"a": "first", "b": "second"}).axes
    assert curves(left) == [[40.0, 42.0], [41.0, 43.0]]
    assert curves(right) == [[0.9, 0.8], [0.95, 0.97]]
    assert [text.get_text() for text in right.texts] == ["first", "second"]


def test_law_each_panel_has_its_distribution_above_the_outline_of_the_first():
    fig = step_figures.draw_processed({"as it is": {"y": 0.75, "x": 0.25}, "top-k": {"y": 1.0, "x": 0.0}})
    first, second, _ = fig.axes
    assert [label.get_text() for label in first.get_yticklabels()] == ["y", "x"]
    assert [bar.get_width() for bar in first.patches] == [0.75, 0.75, 0.25, 0.25]
    assert [bar.get_width() for bar in second.patches] == [0.75, 1.0, 0.25]  # nothing for a removed word
    assert texts(fig) == ["0.75", "0.25", "1.00", "removed"]
    assert hatched(fig) == 1


def test_law_the_loop_shrinks_below_the_other_text():
    fig = step_figures.draw_loop("very", "good", 0.5, steps=3)
    bars = [patch for patch in fig.axes[0].patches if isinstance(patch, Rectangle)]
    line = fig.axes[0].lines[-1]
    base = bars[0].get_y()
    heights = [bar.get_height() / bars[0].get_height() for bar in bars]
    assert heights == pytest.approx([1, 0.5, 0.25])
    assert (line.get_ydata()[0] - base) / bars[0].get_height() == pytest.approx(0.5)
    assert {"very", "good", "0.5 (greedy)", "very good: 0.25", "3"} <= set(texts(fig))


def test_law_the_cache_leaves_one_position_for_each_step():
    fig = step_figures.draw_cache(["a", "b", "c", "d"])
    assert hatched(fig) == 6  # read from the cache
    assert len(fig.axes[0].patches) == 10 + 10
    assert {"10 computed", "4 computed", "without a cache", "with a cache"} <= set(texts(fig))


def test_law_rows_are_filled_until_they_end():
    fig = step_figures.draw_rows([2, 4, 3])
    cells = [bool(cell.get_hatch()) for cell in fig.axes[0].patches]
    assert cells == [False, False, True, True, False, False, False, False, False, False, False, True]
    assert "9 computed, 3 saved" in texts(fig)
