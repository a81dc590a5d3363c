"""A figure keeps the house style outside of the book, and leaves the style of other figures alone."""

import io

import matplotlib
import pytest
import torch
from matplotlib.figure import Figure

from annotated_transformer.plotting import draw_attention, draw_curves, new_plot, to_svg
from annotated_transformer.plotting.palette import INK, PAPER
from tests.run_reports import REPORTS


@pytest.fixture(autouse=True)
def _own_style():
    """Let the caller have a style of their own, which is not the book's."""
    with matplotlib.rc_context({"font.size": 7, "xtick.labelsize": 5, "axes.edgecolor": "red"}):
        yield


def a_map() -> Figure:
    fig, ax = new_plot(height=4.2)
    draw_attention(ax, torch.tensor([[0.25, 0.75]]), ["a"], ["b", "c"])
    return fig


def test_law_the_callers_style_stays_and_the_figures_style_does_not_depend_on_it():
    before = dict(matplotlib.rcParams)
    for fig in (a_map(), draw_curves(REPORTS), new_plot()[0]):
        fig.savefig(io.BytesIO(), format="png")
        fig.draw_without_rendering()
        assert {label.get_fontsize() for ax in fig.axes for label in ax.get_xticklabels()} == {12}
        assert {text.get_fontsize() for ax in fig.axes for text in ax.texts} <= {12}
        assert {ax.xaxis.label.get_color() for ax in fig.axes} == {INK}
    assert dict(matplotlib.rcParams) == before


def test_law_an_image_has_plain_colors_and_a_notebook_shows_it():
    fig = a_map()
    image = to_svg(fig)
    assert image == fig._repr_svg_() == to_svg(a_map())
    assert ">0.75</text>" in image
    assert PAPER.lower() in image
    assert "var(" not in image  # which only browsers understand
    assert "at-cell" not in image
