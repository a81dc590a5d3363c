"""Matrices in figures show the right number in the right cell, with the right highlights and hatching."""

import pytest
import torch
from matplotlib.patches import Rectangle

from annotated_transformer.book.drawing.figures import new_canvas
from annotated_transformer.book.drawing.matrices import (
    cell,
    column,
    draw_matrix,
    draw_operator,
    row,
    write_number,
)
from annotated_transformer.plotting import palette

NUMBERS = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])


def drawn(numbers=NUMBERS, **options):
    """Draw a matrix at (2, 3) and return its axes and box."""
    _, ax = new_canvas(14.0, 10.0)
    box = draw_matrix(ax, 2.0, 3.0, numbers, color=palette.KEY, size=(1.0, 0.5), **options)
    return ax, box


def words(ax):
    return {
        tuple(round(float(c), 2) for c in text.get_position()): text for text in ax.texts if text.get_text()
    }


def cells(ax):
    """Return the cells of a drawing by their lower left corner, without the frame."""
    found = [patch for patch in ax.patches if isinstance(patch, Rectangle) and patch.get_width() == 1.0]
    return {(round(patch.get_x(), 2), round(patch.get_y(), 2)): patch for patch in found}


def test_law_the_first_row_is_on_top_and_the_first_column_at_the_left():
    ax, box = drawn()
    assert box == (2, 3, 3, 1)
    found = {place: text.get_text() for place, text in words(ax).items()}
    assert found == {
        (2.5, 3.75): "0",
        (3.5, 3.75): "1",
        (4.5, 3.75): "2",
        (2.5, 3.25): "3",
        (3.5, 3.25): "4",
        (4.5, 3.25): "5",
    }


def test_law_decimals_that_run_into_their_neighbors_are_shortened():
    _, ax = new_canvas(14.0, 10.0)
    for width, shown in ((0.8, ["0.8", "−0.1", "12.25"]), (1.6, ["0.79", "−0.11", "12.25"])):
        draw_matrix(ax, 2.0, 3.0, [[0.79, -0.11, 12.25]], color=palette.KEY, size=(width, 0.5))
        assert [text.get_text() for text in ax.texts][-3:] == shown


def test_law_a_number_is_short_and_has_a_true_minus_sign():
    numbers = [-0.0, -0.001, 2.0, 0.5, 0.6652, -1.5, 0.999, 10.001, 100.0, float("inf"), float("-inf"), "x_1"]
    written = ["0", "0", "2", "0.5", "0.67", "−1.5", "1", "10", "100", "∞", "−∞", "x_1"]
    assert [write_number(number) for number in numbers] == written


@pytest.mark.parametrize(
    ("highlight", "lit"),
    [
        ([], set()),
        ([cell(1, 2)], {(4, 3.0)}),
        ([row(1), column(0)], {(2, 3.0), (3, 3.0), (4, 3.0), (2, 3.5)}),
    ],
)
def test_law_only_highlighted_cells_are_bold_and_more_opaque(highlight, lit):
    ax, _ = drawn(highlight=highlight)
    strong = {
        place
        for place, patch in cells(ax).items()
        if patch.get_alpha() is None and patch.get_facecolor()[3] > 0.3
    }
    assert strong == lit
    bold = {place for place, text in words(ax).items() if text.get_weight() == "bold"}
    assert bold == {(x + 0.5, y + 0.25) for x, y in lit}


def test_law_what_a_mask_hides_is_hatched_muted_and_not_filled():
    mask = torch.tensor([[True, False, True], [True, True, False]])
    ax, _ = drawn(mask=mask, highlight=[row(0)])
    hidden = {place for place, patch in cells(ax).items() if patch.get_hatch()}
    assert hidden == {(3, 3.5), (4, 3.0)}
    for place, patch in cells(ax).items():
        text = words(ax)[(place[0] + 0.5, place[1] + 0.25)]
        assert (text.get_color() == palette.MUTED) is (place in hidden)
        assert (patch.get_facecolor()[3] == 0) is (place in hidden)
    assert "−∞" in {text.get_text() for text in drawn([["−∞"]], mask=torch.tensor([[False]]))[0].texts}


def test_law_rows_and_columns_have_their_names_beside_them():
    ax, box = drawn(rows=["q1", "q2"], columns=["a", "b", "c"], name="scores")
    at = {text.get_text(): text.get_position() for text in ax.texts}
    assert at["q1"][1] > at["q2"][1]
    assert at["q1"][0] < box.x
    assert at["a"][0] < at["b"][0] < at["c"][0]
    assert at["a"][1] > box.y + box.height
    assert at["scores"][1] < box.y


def test_law_long_column_names_are_rotated():
    short, _ = drawn(columns=["a", "b", "c"])
    long, _ = drawn(columns=["a", "b", "chases"])
    assert {text.get_rotation() for text in short.texts if text.get_text() in "abc"} == {0}
    assert {text.get_rotation() for text in long.texts if text.get_text() in ("a", "b", "chases")} == {90}


def test_law_an_axis_has_the_color_of_its_role_and_its_name_is_mathematics():
    ax, _ = drawn(axes=("queries", "d_k"))
    found = {text.get_text(): text.get_color() for text in ax.texts}
    assert found["queries"] == palette.QUERY_TEXT
    assert "$d_k$" in found
    assert "d_k" not in found
    ax, _ = drawn(axes=("keys", "d_v"))
    found = {text.get_text(): text.get_color() for text in ax.texts}
    assert (found["keys"], found["$d_v$"]) == (palette.KEY_TEXT, palette.VALUE_TEXT)


def test_law_a_matrix_may_be_a_list():
    ax, _ = drawn([[1.0, "x"], [2.5, "y"]])
    assert {"1", "x", "2.5", "y"} == {text.get_text() for text in ax.texts}


def test_law_an_operator_stands_at_its_point():
    _, ax = new_canvas(14.0, 10.0)
    draw_operator(ax, 3.0, 4.0, "×")
    draw_operator(ax, 5.0, 4.0, "softmax")
    sign, word = ax.texts
    assert sign.get_position() == (3, 4)
    assert sign.get_fontsize() > word.get_fontsize()


@pytest.mark.message
def test_message_names_that_do_not_fit_the_numbers():
    with pytest.raises(ValueError, match=r"rows=\['a'\] names 1, but the matrix has 2"):
        drawn(rows=["a"])
    with pytest.raises(ValueError, match=r"columns=\['a', 'b'\] names 2, but the matrix has 3"):
        drawn(columns=["a", "b"])


@pytest.mark.message
def test_message_a_mask_that_does_not_fit_the_numbers():
    with pytest.raises(ValueError, match=r"mask has shape \(3, 2\), but the matrix has \(2, 3\)"):
        drawn(mask=torch.ones(3, 2, dtype=torch.bool))
