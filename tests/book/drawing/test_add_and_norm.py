"""A branch leaves the stream and returns to it on its own side; a norm hides the line on which it stands."""

import pytest
from matplotlib.patches import FancyArrowPatch

from annotated_transformer.book.drawing.add_and_norm import draw_add, draw_fork, draw_over, draw_stream
from annotated_transformer.book.drawing.boxes import Box
from annotated_transformer.book.drawing.figures import new_canvas
from tests.drawings import texts


def arrows(ax):
    paths = [patch.get_path().vertices for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    return [(tuple(path[0]), tuple(path[2])) for path in paths]


@pytest.mark.parametrize(("box", "side"), [(Box(1.0, 3.0, 4.0, 1.0), -1), (Box(9.0, 3.0, 4.0, 1.0), 1)])
def test_law_a_branch_leaves_the_stream_and_returns_to_it_on_the_side_where_its_box_stands(box, side):
    fig, ax = new_canvas(14.0, 8.0)
    draw_fork(ax, 7.0, box, ["$Q$", "$K$", "$V$"])
    draw_add(ax, box, (7.0, 6.0))
    fork, back = ax.lines
    assert 7.0 in fork.get_xdata()
    assert list(back.get_xdata()) == [box.center[0]] * 2
    *inputs, (start, end) = arrows(ax)
    assert all(min(fork.get_xdata()) <= below[0] <= max(fork.get_xdata()) for below, _ in inputs)
    assert all(below[0] == above[0] and below[1] < above[1] <= box.y for below, above in inputs)
    assert start == pytest.approx((box.center[0], 6.0))
    assert 0 < (end[0] - 7.0) * side < (start[0] - 7.0) * side
    assert texts(fig) == ["$Q$", "$K$", "$V$", "+"]


def test_law_a_norm_hides_the_line_on_which_it_stands():
    _, ax = new_canvas(14.0, 8.0)
    draw_stream(ax, 7.0, 1.0, 7.0)
    draw_over(ax, Box(5.0, 3.0, 4.0, 1.0), "norm")
    (line,), (paper, box), (*_, name) = ax.lines, ax.patches, ax.texts
    assert paper.get_facecolor()[3] == 1
    assert line.zorder < paper.zorder < box.zorder < name.zorder
