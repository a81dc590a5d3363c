"""The figures of the multi-head chapter show the right numbers and names, and fit a phone."""

import pytest
import torch

from annotated_transformer.book.chapters.multi_head_attention import figures as figures
from tests.drawings import texts


def count(words, word):
    return sum(found == word for found in words)


def test_law_mixtures_show_the_product_of_weights_and_values():
    weights, values = torch.tensor([[1.0, 0], [0.25, 0.75]]), torch.tensor([[4.0, 0], [0, 8]])
    words = texts(
        figures.draw_mixtures(weights, values, heads=["h", "one"], words=["a", "b"], results=["a", "?"])
    )
    assert {"h", "one", "a", "b", "?", "weights", "values", "output"} <= set(words)
    assert {"4", "0", "1", "6"} <= set(words)  # 0.25 · (4, 0) + 0.75 · (0, 8) = (1, 6)


def parts(weights):
    rows = {
        "Q": [[20.0]],
        "K": [[1.0], [0], [0]],
        "V": [[1.0, 0], [0, 0], [0, 1]],
        "weights": [weights],
        "head": [[weights[0], weights[2]]],
    }
    return {name: torch.tensor(numbers) for name, numbers in rows.items()}


def test_law_the_flow_shows_every_matrix_of_both_heads():
    w_output = torch.tensor([[7.0, 0, 0], [0, 7, 0], [0, 0, 7], [0, 0, 0]])
    x, output = torch.tensor([[1.0, 2, 3]] * 3), torch.tensor([[5.0, 5, 5]])
    fig = figures.draw_flow(
        x, [parts([1.0, 0, 0]), parts([0.0, 0, 1])], w_output, output, words=["a", "b", "c"]
    )
    words = texts(fig)
    assert {"head 1", "head 2", "concat", "output", "weights", "a", "b", "c"} <= set(words)
    assert (count(words, "20"), count(words, "7"), count(words, "5")) == (2, 3, 3)


def test_law_a_sum_of_heads_has_the_numbers_of_both_terms_and_twice_the_sum():
    heads = torch.tensor([[1.0, 2], [3, -1]])
    blocks = torch.tensor([[[1.0, 0, 20], [0, 1, 1]], [[1, 1, 0], [2, 0, 1]]])
    words = texts(figures.draw_sum_of_heads(heads, blocks))
    assert count(words, "22") == 1  # 1 · 20 + 2 · 1, the term of head 1
    assert count(words, "21") == 2  # plus −1 from head 2, in both outputs
    assert {"concat", "output", "the same output", "+"} <= set(words)


def test_law_entries_are_colored_by_the_head_that_they_were_made_for():
    projected = torch.arange(16).view(4, 4)
    right, wrong = projected.view(4, 2, 2).transpose(0, 1), projected.view(2, 4, 2)
    fig = figures.draw_splits(projected, {"right": right, "wrong": wrong})
    hatched = [bool(patch.get_hatch()) for patch in fig.axes[0].patches if not patch.get_fill()]
    assert hatched[:16] == [False, False, True, True] * 4
    assert hatched[16:32] == [False] * 8 + [True] * 8  # split correctly
    assert hatched[32:] == [False, False, True, True] * 4  # each head is mixed
    assert count(texts(fig), "13") == 3


def test_law_the_markers_of_the_error_figure_show_the_measured_values():
    fig = figures.draw_error_law({0.0: (1.0, 0.0), 1.0: (0.25, 0.75)})
    marks = [line.get_ydata() for line in fig.axes[0].lines if line.get_linestyle() == "None"]
    assert [list(ys) for ys in marks] == [[1.0, 0.25], [0.0, 0.75], [0.5, 0.5]]
    assert {"item a", "item b", "mean"} <= set(texts(fig))


def test_law_errors_have_a_row_for_each_kind_and_a_mark_for_each_seed():
    fig = figures.draw_errors({"one": [0.5, 0.51, 0.49], "two": [0.0, 0.0, 0.0]}, good=["two"])
    marks = {line.get_marker(): list(line.get_xdata()) for line in fig.axes[0].lines}
    assert marks["s"] == [0.5, 0.51, 0.49]
    assert marks["o"] == [0.0, 0.0, 0.0]
    assert [label.get_text() for label in fig.axes[0].get_yticklabels()] == ["one", "two"]
    assert texts(fig) == ["0.49 to 0.51", "0.00", "bound for one head in one layer"]


def test_law_each_line_of_the_parting_figure_is_a_logarithm_and_names_its_start():
    starts = {1e-3: [1e-2, 1.0], 1e-7: [1e-6, 1e-1], 1e-11: [1e-9, 1e-5], 1e-15: [1e-14, 1e-10]}
    fig = figures.draw_parting(starts, mark=2)
    mark, *lines = fig.axes[0].lines
    assert [list(line.get_ydata()) for line in lines] == [
        [-2.0, 0.0],
        [-6.0, -1.0],
        [-9.0, -5.0],
        [-14.0, -10.0],
    ]
    assert set(mark.get_xdata()) == {2}
    assert texts(fig) == ["$10^{-3}$", "$10^{-7}$", "$10^{-11}$", "$10^{-15}$"]


@pytest.mark.parametrize("heads", [1, 4])
def test_law_the_cost_figure_shows_one_map_per_head_and_the_cuts_between_heads(heads):
    w_query, maps = torch.eye(12), torch.full((heads, 5, 5), 0.2)
    fig = figures.draw_cost(w_query, maps)
    frames = [patch for patch in fig.axes[0].patches if not patch.get_fill()]
    assert len(frames) == 1 + heads
    assert len(fig.axes[0].lines) == heads - 1
    words = " ".join(texts(fig))
    assert f"{heads} × {12 // heads} columns" in words
    assert f"= {25 * heads} numbers" in words


def test_law_table_3_names_each_result_and_the_width_of_a_head():
    fig = figures.draw_table_3({1: 24.9, 8: 25.8}, base=8)
    assert {"24.9", "25.8"} <= set(texts(fig))
    assert [label.get_text() for label in fig.axes[0].get_xticklabels()] == ["1\n512", "8\n64"]


def test_law_trained_heads_have_one_map_each_with_named_tokens():
    fig = figures.draw_trained({"head 1": torch.eye(3), "head 2": torch.eye(3)}, tokens=["x", "y", "z"])
    assert [ax.get_ylabel() for ax in fig.axes] == ["head 1", "head 2"]
    for ax in fig.axes:
        assert [label.get_text() for label in ax.get_yticklabels()] == ["x", "y", "z"]


def test_law_learned_weights_have_a_row_for_each_head_and_lines_between_the_models():
    (ax,) = figures.draw_learned(torch.eye(3), rows=["head 1", "head 2", "layer 1"], lines=[2]).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["head 1", "head 2", "layer 1"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3"]
    assert [list(line.get_ydata()) for line in ax.lines] == [[2, 2]]


def test_law_the_parting_figure_takes_any_number_of_starts_and_equal_heads():
    fig = figures.draw_parting({0.0: [0.0, 1e-30], **{10.0**-n: [1.0, 1.0] for n in range(1, 6)}}, mark=2)
    _, equal, *others = fig.axes[0].lines
    assert list(equal.get_ydata()) == [-16.0, -16.0]
    assert len(others) == 5
    assert texts(fig)[0] == "0"


def test_law_errors_have_a_mark_for_each_of_many_seeds():
    fig = figures.draw_errors({"one head": [0.5, 0.51, 0.52, 0.53, 0.54], "two heads": [0.1]})
    rows = [line for line in fig.axes[0].lines if line.get_linestyle() == "None"]
    assert [len(line.get_xdata()) for line in rows] == [5, 1]
    assert all(-0.25 < y - round(y) < 0.25 for line in rows for y in line.get_ydata())
