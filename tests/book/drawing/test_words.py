"""Words, vectors and labels stand where they are said to stand."""

import pytest
from matplotlib.colors import to_rgba

from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import (
    draw_tokens,
    draw_vector,
    label_ends,
    name_rows,
    space_out,
)
from annotated_transformer.plotting.palette import KEY
from tests.drawings import texts


def test_law_tokens_stand_in_a_row_with_the_same_gap():
    fig, ax = new_canvas(10.0, 2.0)
    boxes = draw_tokens(ax, 1.0, 0.5, ["a", "bc"], width=2.0, gap=0.25)
    assert [(box.x, box.y, box.width) for box in boxes] == [(1.0, 0.5, 2.0), (3.25, 0.5, 2.0)]
    assert texts(fig) == ["a", "bc"]


@pytest.mark.parametrize(("upright", "corners"), [(True, [(1, 3), (1, 2)]), (False, [(1, 2), (2, 2)])])
def test_law_a_larger_share_is_darker_and_the_first_feature_is_on_top_or_at_the_left(upright, corners):
    _, ax = new_canvas(10.0, 10.0)
    draw_vector(ax, 1.0, 2.0, [0.0, 1.0], color=KEY, size=(1.0, 1.0), upright=upright)
    assert [patch.get_xy() for patch in ax.patches] == corners
    assert [patch.get_facecolor() for patch in ax.patches] == [to_rgba(KEY, 0.1), to_rgba(KEY, 0.9)]


@pytest.mark.message
def test_a_share_above_one_is_refused():
    with pytest.raises(ValueError, match=r"share 1 is 1\.5; a cell is shaded by a share between 0 and 1"):
        draw_vector(new_canvas(4.0, 4.0)[1], 0.0, 0.0, [0.5, 1.5], color=KEY)


@pytest.mark.parametrize(
    ("places", "moved"),
    [
        ([0.0, 30.0], [0.0, 30.0]),
        ([5.0, 5.0], [0.0, 10.0]),
        ([6.0, 4.0], [10.0, 0.0]),
        ([0.0, 8.0, 9.0], [pytest.approx(-13 / 3), pytest.approx(17 / 3), pytest.approx(47 / 3)]),
    ],
)
def test_law_places_are_moved_apart_around_their_middle(places, moved):
    assert space_out(places, 10.0) == moved


@pytest.mark.parametrize("shown", [True, False])
def test_law_a_name_stands_beside_its_row(shown):
    fig, (ax, other) = new_figure(1, 2)
    name_rows(ax, {"first": 1.0, "second": 2.0})
    name_rows(other, ["first", "second"], shown=shown)
    fig.draw_without_rendering()
    assert {label.get_text(): label.get_position()[1] for label in ax.get_yticklabels()} == {
        "first": 0,
        "second": 1,
    }
    assert [label.get_text() for label in other.get_yticklabels()] == (
        ["first", "second"] if shown else ["", ""]
    )
    assert [line.get_markersize() for line in (*ax.get_yticklines(), *other.get_yticklines())] == [0] * 8


def test_law_a_line_is_named_at_its_end_and_near_names_do_not_overlap():
    fig, ax = new_figure()
    for name, end in (("high", 1.0), ("low", 0.0), ("near", 0.01)):
        ax.plot([0, 1], [0.5, end], label=name)
    ax.plot([0, 1], [0, 0])
    label_ends(ax)
    assert texts(fig)[-3:] == ["high", "low", "near"]
    high, low, near = ax.texts
    assert (high.xy, low.xy) == ((1, 1.0), (1, 0.0))
    assert high.xyann == (6.0, pytest.approx(0))
    assert near.xyann[1] > 0 > low.xyann[1]
