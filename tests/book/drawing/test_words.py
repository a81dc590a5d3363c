"""Labels do not overlap, and a share is between 0 and 1."""

import pytest

from annotated_transformer.book.drawing.figures import new_canvas, new_figure
from annotated_transformer.book.drawing.words import draw_vector, label_ends, space_out
from annotated_transformer.plotting.palette import KEY
from tests.drawings import texts


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
