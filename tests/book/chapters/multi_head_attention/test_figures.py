"""The figures of the multi-head chapter show the right numbers and names, and fit a phone."""

import pytest
import torch
from matplotlib.patches import Rectangle

from annotated_transformer.book.chapters.multi_head_attention import figures as figures
from tests.drawings import texts


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
    assert (words.count("20"), words.count("7"), words.count("5")) == (2, 3, 3)


def test_law_a_sum_of_heads_has_the_numbers_of_both_terms_and_twice_the_sum():
    heads = torch.tensor([[1.0, 2], [3, -1]])
    blocks = torch.tensor([[[1.0, 0, 20], [0, 1, 1]], [[1, 1, 0], [2, 0, 1]]])
    words = texts(figures.draw_sum_of_heads(heads, blocks))
    assert words.count("22") == 1  # 1 · 20 + 2 · 1, the term of head 1
    assert words.count("21") == 2  # plus −1 from head 2, in both outputs
    assert {"concat", "output", "the same output", "+"} <= set(words)


def test_law_entries_are_colored_by_the_head_that_they_were_made_for():
    projected = torch.arange(16).view(4, 4)
    right, wrong = projected.view(4, 2, 2).transpose(0, 1), projected.view(2, 4, 2)
    fig = figures.draw_splits(projected, {"right": right, "wrong": wrong})
    hatched = [bool(patch.get_hatch()) for patch in fig.axes[0].patches if not patch.get_fill()]
    assert hatched[:16] == [False, False, True, True] * 4
    assert hatched[16:32] == [False] * 8 + [True] * 8  # split correctly
    assert hatched[32:] == [False, False, True, True] * 4  # each head is mixed
    assert texts(fig).count("13") == 3


def test_law_the_heads_are_together_as_tall_as_the_vector():
    fig = figures.draw_widths(512, 4)
    rectangles = [patch for patch in fig.axes[0].patches if type(patch) is Rectangle]
    heads, concat = rectangles[::2], rectangles[1::2]
    assert len({patch.get_x() for patch in heads}) == len({patch.get_x() for patch in concat}) == 1
    (bar,) = {round(patch.get_height(), 6) for patch in concat}
    wedge = fig.axes[0].patches[1].get_path().vertices[:, 1]  # of head 1
    assert 4 * bar == pytest.approx(max(wedge) - min(wedge))
    words = texts(fig)
    assert {"head 4", "128 each", "$W^O$, 512 × 512"} <= set(words)
    assert words.count("512") == 3


def test_law_each_step_of_the_split_has_a_sheet_for_each_head_and_sentence():
    fig = figures.draw_axes((3, 4, 10), (3, 4, 2, 5), (3, 2, 4, 5))
    hatches = [bool(patch.get_hatch()) for patch in fig.axes[0].patches if patch.get_linewidth()]
    sheets = hatches[:18]
    assert sheets == [False, True] * 9
    words = texts(fig)
    assert {"3 × 4 × 10", "3 × 4 × 2 × 5", "3 × 2 × 4 × 5"} <= set(words)
    assert {"4 tokens", "10 columns", "3 sentences", "unflatten", "transpose"} <= set(words)
    assert words.count("head 2") == 3


def test_law_outputs_that_pairs_share_are_squares_with_their_count():
    shared, own = (
        torch.tensor([[0.5, 0.5], [0, 0], [0.5, 0.5]]),
        torch.tensor([[0.7, 0.3], [0, 0], [0.3, 0.7]]),
    )
    fig = figures.draw_merges(
        {"equal": shared, "uneven": own}, corners={"w": (0, 0)}, marked={"x": 0, "y": 2}
    )
    marks = [[(line.get_marker(), *line.get_xydata()[0]) for line in ax.lines] for ax in fig.axes]
    assert marks[0] == [("o", 0, 0), ("s", 0.5, 0.5)]
    assert [mark for mark, *_ in marks[1]] == ["o"] * 3
    assert [ax.get_title() for ax in fig.axes] == ["equal, 2 outputs", "uneven, 3 outputs"]
    assert texts(fig) == ["2", "w", "x\ny", "w", "x", "y"]
