"""The drawings of activation functions and tasks show the given numbers."""

import torch
from matplotlib.patches import FancyArrowPatch
from torch import nn

from annotated_transformer.book.chapters.feed_forward import geometry
from annotated_transformer.plotting.palette import FIRST, SECOND
from tests.drawings import texts


def test_law_each_function_has_its_curve_and_its_name():
    fig = geometry.draw_activations({"ReLU": nn.ReLU(), "square": torch.square})
    assert texts(fig) == ["ReLU", "square"]
    for line, function in zip(fig.axes[0].lines, (torch.relu, torch.square), strict=False):
        x, y = (torch.as_tensor(numbers) for numbers in line.get_data())
        torch.testing.assert_close(y, function(x))


def test_law_an_arrow_leads_to_where_relu_moves_a_word():
    before = {"a": (1, -3), "b": (-1, -2), "c": (2, 1)}
    fig = geometry.draw_fold(before, {"a": True, "b": False, "c": True}, level=0.5)
    assert texts(fig)[:3] == ["a", "b", "c"]
    (ax,) = fig.axes
    arrows = [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]
    assert [tuple(arrow._posA_posB) for arrow in arrows] == [((1, -3), (1, 0)), ((-1, -2), (0, 0))]
    spots = {
        (line.get_xdata()[0], line.get_ydata()[0]): line.get_color()
        for line in ax.lines
        if line.get_linestyle() == "None"
    }
    assert spots[1, 0] == spots[1, -3] == spots[2, 1] == FIRST
    assert spots[0, 0] == SECOND


def test_law_neighboring_corners_have_different_labels():
    fig = geometry.draw_corners({(1, 1, 1): "p", (1, -1, -1): "q"})
    assert {"p", "q"} <= set(texts(fig))
    (ax,) = fig.axes
    labels = {
        (line.get_xdata()[0], line.get_ydata()[0]): line.get_color()
        for line in ax.lines
        if line.get_linestyle() == "None"
    }
    edges = [line for line in ax.lines if line.get_linestyle() == "-"]
    assert (len(labels), len(edges)) == (4 + 8, 4 + 12)
    for edge in edges:
        one, two = (labels[spot] for spot in zip(*edge.get_data(), strict=True))
        assert {one, two} == {FIRST, SECOND}
