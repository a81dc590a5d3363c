"""The plots of the multi-head chapter show the right numbers and names, and fit a phone."""

import pytest
import torch

from annotated_transformer.book.chapters.multi_head_attention import measured_figures
from tests.drawings import texts


def test_law_the_markers_of_the_error_figure_show_the_measured_values():
    fig = measured_figures.draw_error_law({0.0: (1.0, 0.0), 1.0: (0.25, 0.75)})
    marks = [line.get_ydata() for line in fig.axes[0].lines if line.get_linestyle() == "None"]
    assert [list(ys) for ys in marks] == [[1.0, 0.25], [0.0, 0.75], [0.5, 0.5]]
    assert {"item a", "item b", "mean"} <= set(texts(fig))


def test_law_errors_have_a_mark_for_each_seed_and_a_sketch_of_each_layer():
    errors = {"one": [0.5, 0.51, 0.49, 0.5, 0.5], "two": [0.0, 0.0, 0.0]}
    (ax,) = measured_figures.draw_errors(errors, {"one": [[64]], "two": [[16], [16]]}, cut=["two"]).axes
    marks = {line.get_marker(): list(line.get_xdata()) for line in ax.lines if line.get_marker() in "os"}
    zero, one = next(list(line.get_xdata()) for line in ax.lines if line.get_xdata()[-1] > max(marks["s"]))
    assert marks["o"] == [zero] * 3
    assert [(place - zero) / (one - zero) for place in marks["s"]] == pytest.approx(errors["one"])
    rows = [line.get_ydata() for line in ax.lines if line.get_linestyle() == "None"]
    assert all(max(heights) - min(heights) < 1 for heights in rows)  # a row is 1.7 high
    heads = [patch.get_width() for patch in ax.patches if patch.get_zorder() == 3]
    assert heads == pytest.approx([heads[0], heads[0] / 4, heads[0] / 4])
    assert sum(len(line.get_xdata()) == 4 for line in ax.lines) == 1  # the residual of the first kind
    assert {"one", "two", "0.49 to 0.51", "0.00", "out of reach\nfor one head\nin one layer"} <= set(
        texts(ax.figure)
    )


def test_law_each_line_of_the_parting_figure_is_a_logarithm_and_names_its_start():
    starts = {1e-3: [1e-2, 1.0], 1e-7: [1e-6, 1e-1], 1e-11: [1e-9, 1e-5], 1e-15: [1e-14, 1e-10]}
    fig = measured_figures.draw_parting(starts, mark=2)
    mark, *lines = fig.axes[0].lines
    assert [list(line.get_ydata()) for line in lines] == [[-2, 0], [-6, -1], [-9, -5], [-14, -10]]
    assert set(mark.get_xdata()) == {2}
    assert texts(fig) == ["$10^{-3}$", "$10^{-7}$", "$10^{-11}$", "$10^{-15}$"]


@pytest.mark.parametrize("heads", [1, 4])
def test_law_the_cost_figure_shows_one_map_per_head_and_the_cuts_between_heads(heads):
    w_query, maps = torch.eye(12), torch.full((heads, 5, 5), 0.2)
    fig = measured_figures.draw_cost(w_query, maps)
    frames = [patch for patch in fig.axes[0].patches if not patch.get_fill()]
    assert len(frames) == 1 + heads
    assert len(fig.axes[0].lines) == heads - 1
    words = " ".join(texts(fig))
    assert f"{heads} × {12 // heads} columns" in words
    assert f"= {25 * heads} numbers" in words


def test_law_table_3_names_each_result_and_the_width_of_a_head():
    fig = measured_figures.draw_table_3({1: 24.9, 8: 25.8}, base=8)
    assert {"24.9", "25.8"} <= set(texts(fig))
    assert [label.get_text() for label in fig.axes[0].get_xticklabels()] == ["1\n512", "8\n64"]


def test_law_trained_heads_have_one_map_each_with_named_tokens():
    fig = measured_figures.draw_trained(
        {"head 1": torch.eye(3), "head 2": torch.eye(3)}, tokens=["x", "y", "z"]
    )
    assert [ax.get_ylabel() for ax in fig.axes] == ["head 1", "head 2"]
    for ax in fig.axes:
        assert [label.get_text() for label in ax.get_yticklabels()] == ["x", "y", "z"]


def test_law_learned_weights_have_a_row_for_each_head_and_lines_between_the_models():
    (ax,) = measured_figures.draw_learned(torch.eye(3), rows=["head 1", "head 2", "layer 1"], lines=[2]).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["head 1", "head 2", "layer 1"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3"]
    assert [list(line.get_ydata()) for line in ax.lines] == [[2, 2]]


def test_law_the_parting_figure_takes_any_number_of_starts_and_equal_heads():
    fig = measured_figures.draw_parting(
        {0.0: [0.0, 1e-30], **{10.0**-n: [1.0, 1.0] for n in range(1, 6)}}, mark=2
    )
    _, equal, *others = fig.axes[0].lines
    assert list(equal.get_ydata()) == [-16.0, -16.0]
    assert len(others) == 5
    assert texts(fig)[0] == "0"


def test_law_swapped_words_keep_their_weights():
    weights = {"a gave b": torch.tensor([0.5, 0.3, 0.2]), "b gave a": torch.tensor([0.2, 0.3, 0.5])}
    fig = measured_figures.draw_swap(weights, reader="gave", lit=["a", "b"])
    widths = [line.get_linewidth() for line in fig.axes[0].lines]
    assert widths == pytest.approx([4.5, 2.7, 1.8, 1.8, 2.7, 4.5])
    words = [text for text in texts(fig) if text != "="]
    assert words[:3] == ["output at gave", "a", "0.50"]
    assert words[7:10] == ["output at gave", "b", "0.20"]
