"""The drawings of the chapter on cross-attention show the given numbers."""

import pytest
import torch

from annotated_transformer.book.chapters.cross_attention import figures as figures
from annotated_transformer.plotting.palette import VALUE
from tests.drawings import curves, hatched, texts

SOURCE, TARGET = ["young", "dog", "barks"], ["<s>", "chien"]
WEIGHTS = torch.tensor([[0.1, 0.88, 0.02], [0.7, 0.1, 0.2]])


def test_law_a_line_is_as_wide_as_its_weight_and_joins_the_right_words():
    (ax,) = figures.draw_reading(WEIGHTS, source=SOURCE, target=TARGET).axes
    lines = [line for line in ax.lines if line.get_color() == VALUE]
    assert [line.get_linewidth() for line in lines] == pytest.approx([0.9, 7.92, 6.3, 0.9, 1.8])
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
    joined = [(round(line.get_ydata()[0], 6), round(line.get_ydata()[1], 6)) for line in lines]
    pairs = [("young", "<s>"), ("dog", "<s>"), ("young", "chien"), ("dog", "chien"), ("barks", "chien")]
    assert joined == [(round(heights[a], 6), round(heights[b], 6)) for a, b in pairs]


def test_law_the_two_sequences_show_each_number():
    z = [[1, 0], [0, 1], [0, 0]]
    matrices = {
        "z": z,
        "x": [[2, 3], [4, 5]],
        "K": z,
        "V": [[6, 7], [8, 9], [10, 11]],
        "Q": [[12, 13], [14, 15]],
    }
    matrices |= {"weights": WEIGHTS, "output": [[16, 17], [18, 19]]}
    fig = figures.draw_two_sequences(matrices, source=SOURCE, target=TARGET, features=["adj.", "noun"])
    found = texts(fig)
    assert {str(number) for number in range(20)} | {"0.9", "0.7", "$W^Q$", "$W^K$", "$W^V$"} <= set(found)
    assert found.count("chien") == 2  # beside x and beside the weights
    assert found.count("dog") == 2  # beside z and above the weights


def test_law_each_layer_has_its_keys_and_values_and_every_source_word_its_vector():
    layers = 3
    fig = figures.draw_layers(SOURCE, TARGET, "jeune", layers=layers)
    found = texts(fig)
    assert found.count("cross-attention") == found.count("self-attention") == layers
    assert [text for text in found if text.startswith("$K")] == [
        f"$K^{{({n})}}, V^{{({n})}}$" for n in range(1, layers + 1)
    ]
    assert [text for text in found if text.startswith("$z")] == ["$z_1$", "$z_2$", "$z_3$"]


def test_law_marked_cells_are_outlined_solid_and_dashed():
    first, second = torch.zeros(2, 2, 3, dtype=torch.bool)
    first[0, 2] = second[1, 0] = True
    fig = figures.draw_map(WEIGHTS, source=SOURCE, target=TARGET, marks={"next": first, "last": second})
    outlines = [patch for patch in fig.axes[0].patches if not patch.get_fill()]
    assert [(int(patch.get_x()), int(patch.get_y())) for patch in outlines] == [(2, 0), (0, 1)]
    assert [patch.get_linestyle() for patch in outlines] == ["-", "--"]
    assert {"solid: next", "dashed: last", "0.88"} <= set(texts(fig))


def test_law_the_shift_starts_at_layer_one():
    (ax,) = figures.draw_shift({"next": [0.1, 0.5, 0.9], "last": [0.7, 0.2, 0.0]}).axes
    assert curves(ax) == [[0.1, 0.5, 0.9], [0.7, 0.2, 0.0]]
    assert [list(line.get_xdata()) for line in ax.lines] == [[1, 2, 3]] * 2


def test_law_shapes_are_two_squares_and_a_rectangle_and_half_a_square_is_hidden():
    fig = figures.draw_shapes(3, 5)
    assert len(fig.axes[0].patches) == 3 * 3 + 5 * 3 + 5 * 5
    assert hatched(fig) == 5 * 4 // 2
    assert [text for text in texts(fig) if "n_" in text].count(r"$n_\mathrm{tgt}$ = 5") == 3


def test_law_each_layer_links_its_row_of_target_words_with_the_source():
    fig = figures.draw_two_layers(WEIGHTS, WEIGHTS.flip(0), source=SOURCE, target=TARGET)
    lines = fig.axes[0].lines  # weights from 0.15 on: the upper row first
    assert [line.get_linewidth() for line in lines] == pytest.approx([6.3, 1.8, 7.92, 7.92, 6.3, 1.8])
    assert lines[0].get_ydata()[0] > lines[0].get_ydata()[1] > lines[3].get_ydata()[0]
    assert texts(fig).count("chien") == 2


def test_law_a_cut_off_word_has_its_share_and_ways_that_are_crossed_out():
    fig = figures.draw_cut_off(("young", "dog"), "chien", {"a": 0.04, "b": 1.0, "c": 0.16})
    found = texts(fig)
    assert [text for text in found if text.endswith("right")] == ["4% right", "100% right", "16% right"]
    assert found.count("×") == 4  # the second row in each panel, the encoder's way in the last
    assert [found.count(word) for word in ("young", "dog", "chien")] == [3, 3, 3]


def test_law_each_step_brings_a_query_and_the_word_before():
    found = texts(figures.draw_once(SOURCE, ["chien", "aboie", "</s>"]))
    assert [text for text in found if text.startswith("$q")] == ["$q_1$", "$q_2$", "$q_3$"]
    assert [found.count(word) for word in ("<s>", "chien", "aboie", "</s>")] == [1, 2, 2, 1]
