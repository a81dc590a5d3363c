"""The drawings of what flows through a model show the given numbers."""

import pytest
import torch
from matplotlib.colors import to_rgb

from annotated_transformer.book.chapters.looking_inside import mechanism_figures
from annotated_transformer.plotting.attention_map import heat
from tests.drawings import bold, hatched, texts


def test_law_an_area_is_weight_times_value():
    fig = mechanism_figures.draw_areas([0.75, 0.25], [0.0, -2.0])
    boxes = [(box.get_x(), box.get_width(), box.get_height()) for box in fig.axes[0].patches]
    assert boxes == [(0, 0.75, 0), (0.75, 0.25, -2)]
    assert texts(fig) == ["0.75 × 0\n= 0", "0.25 × −2\n= −0.5"]


def test_law_each_head_has_a_bar_over_each_token():
    maps = torch.tensor([[[0.5, 0.5], [0.9, 0.1]], [[0.2, 0.8], [0.0, 1.0]], [[0.3, 0.7], [0.6, 0.4]]])
    fig = mechanism_figures.draw_word_in_layers(maps, ["I", "saw"], "saw")
    itself, end, *bars = fig.axes[0].patches  # the first two shade a column
    assert [bar.get_height() / 5 for bar in bars] == pytest.approx(maps.flatten().tolist())
    assert (itself.get_x(), end.get_x()) == (end.get_x(), 7 + end.get_width())  # saw is the last word, too
    assert bold(fig) == ["itself: 58%", "the end: 58%", "saw"]
    assert [text for text in texts(fig) if "layer" in text] == ["layer 1", "layer 2", "layer 3"]


def test_law_the_lens_has_a_word_for_each_position_and_depth():
    fig = mechanism_figures.draw_lens_words(["a", "b"], [["c", "d"], ["e", "f"]], [[0.1, 0.9], [0.5, 1.0]])
    assert [text for text in texts(fig) if text in "cdef"] == ["c", "d", "e", "f"]
    shades = [cell.get_facecolor()[:3] for cell in fig.axes[0].patches]
    assert shades == [pytest.approx(to_rgb(heat(share))) for share in (0.1, 0.9, 0.5, 1.0)]
    assert bold(fig) == ["a", "b", "input"]


def test_law_one_vector_of_the_second_run_is_that_of_the_first():
    fig = mechanism_figures.draw_streams(["a", "b"], ["a", "c"], depths=3, depth=2, token=1)
    assert hatched(fig) == 5
    assert bold(fig)[:2] == ["b", "c"]  # where the sentences differ
    cells = fig.axes[0].patches[:12]
    (put,) = (cell for cell in cells[6:] if not cell.get_hatch())
    assert put.get_y() == cells[5].get_y()


def test_law_what_lies_above_the_vector_is_computed_again():
    fig = mechanism_figures.draw_streams(["a", "b"], ["a", "c"], depths=3, depth=0, token=1)
    cells = fig.axes[0].patches[:12]
    dashed = [cell.get_linestyle() == "--" for cell in cells]
    assert dashed == [False] * 6 + [False, True, True] * 2  # in the second run, column by column
    assert "dashed: recomputed" in texts(fig)


def test_law_the_last_symbol_is_followed_by_what_followed_its_copy():
    fig = mechanism_figures.draw_induction("CABDA", 1)
    shown = texts(fig)
    assert shown.count("B") == 2  # as an input, and as the answer
    assert [text for text in shown if "\n" in text] == [
        "A\nafter C",
        "B\nafter A",
        "D\nafter B",
        "A\nafter D",
    ]
    assert "A looks for “after A”" in shown
