"""A figure's words come from its chapter's file, with the values that the cell computes in their places."""

import json
import re

import pytest
from matplotlib.figure import Figure

from annotated_transformer.book.cells import captions
from annotated_transformer.book.cells.captions import (
    Caption,
    parse,
    show_figure,
    show_slider,
    typed_words,
)
from annotated_transformer.book.drawing.figures import new_canvas

FILE = """## Figure 3.1. The rows

Each row of the map
sums to {total:.1f}, and {{no}} row to more.

Count them: {count}.

## Figure 3.2. One row

A slider with the row {frame} of a small map.

Drag it.
"""


@pytest.fixture(autouse=True)
def file(monkeypatch):
    """Give chapter 3 the words above."""
    monkeypatch.setattr(captions, "captions", lambda chapter: parse(FILE) if chapter == "3" else {})


def draw(text: object = "") -> Figure:
    fig, ax = new_canvas(4.0, 1.0)
    ax.text(2, 0.5, f"row {text}", ha="center")
    return fig


def test_law_the_words_of_a_figure_have_the_values_of_its_cell():
    page = show_figure("3.1", draw(), total=1, count=4)
    alt = "Each row of the map sums to 1.0, and {no} row to more."
    assert repr(page) == f"Figure 3.1. The rows\n\n{alt}\n\nCount them: 4."
    assert f'alt="{alt}"' in page._repr_html_()


def test_law_each_frame_of_a_slider_has_its_own_words():
    def alts(page):
        data = re.search(r'class="at-frames">(.*?)</script>', page._repr_html_())
        return [frame["alt"] for frame in json.loads(data[1])["frames"]]

    plain = show_slider("3.2", draw, [1, 2], name="row")
    assert alts(plain) == [f"A slider with the row {row} of a small map." for row in (1, 2)]
    named = show_slider("3.2", draw, [1, 2], name="row", start=2, each=lambda row: {"frame": "abc"[row]})
    assert alts(named) == [f"A slider with the row {row} of a small map." for row in "bc"]
    assert '"start": 1' in named._repr_html_()


def test_law_typed_words_are_those_that_no_cell_computes():
    typed = " ".join(typed_words("3"))
    assert "Each row of the map sums to " in typed
    assert "total" not in typed
    assert typed_words("4") == []


@pytest.mark.message
def test_message_a_figure_without_words_and_values_without_places():
    with pytest.raises(
        ValueError, match=r"03\.md in the chapter's room has no words for figure 3\.9; it has them for 3"
    ):
        show_figure("3.9", draw())
    with pytest.raises(
        ValueError, match=r"figure 3\.1 have places for count, total, and the cell gives total$"
    ):
        show_figure("3.1", draw(), total=1)


@pytest.mark.message
def test_message_a_figure_has_two_paragraphs():
    assert parse("## Figure 1.1. A\n\nb\n\nc\n") == {"1.1": Caption("A", "b", "c")}
    for text in ("## Figure 1.1. A\n\nb\n", "## Figure 1.1. A\n\nb\n\nc\n\nd\n", FILE + FILE):
        with pytest.raises(ValueError, match=r"figure [\d.]+ has \d paragraphs or is there twice; write its"):
            parse(text)
