"""Figures are reproducible, follow the theme, and stay legible on a phone."""

import re
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
import torch
from bs4 import BeautifulSoup
from matplotlib.lines import Line2D
from matplotlib.transforms import Affine2D

from annotated_transformer.book.drawing.figures import new_canvas, new_figure, show_figure, svg
from annotated_transformer.book.output import STRICT
from annotated_transformer.plotting import palette


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    """Build the book: a figure that is not legible raises an error."""
    monkeypatch.setenv(STRICT, "1")


def plot(**labels):
    fig, ax = new_figure()
    ax.plot([1, 2, 3], [1, 2, 3])
    ax.plot([1, 2, 3], [3, 2, 1])
    ax.set(**labels)
    return fig


def test_law_drawing_the_same_figure_twice_gives_the_same_bytes_without_a_date():
    one, other = svg(plot(title="same")), svg(plot(title="other"))
    assert svg(plot(title="same")) == one != other
    assert not re.search(r"<style|<metadata|<!--|matplotlib|20\d\d-", one)
    assert ElementTree.fromstring(one).tag.endswith("svg")
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (one, other)]
    assert not ids[0] & ids[1]
    assert set() < set(re.findall(r'(?:url\(#|href="#)([^")]+)', one)) <= ids[0]


def test_law_text_stays_text_and_only_coordinates_are_rounded():
    fig = plot(title="0.123456 wide")
    points = Affine2D().scale(1 / 72) + fig.dpi_scale_trans  # from the lower left corner
    fig.add_artist(Line2D([10.001, 100.3004], [20.004, 30.25], transform=points, gid="at-line"))
    text = svg(fig)
    assert ">0.123456 wide</text>" in text
    assert re.search(r'at-line">\s*<path d="M (\S+) \S+\s+L (\S+)', text).groups() == ("10", "100.3")


def test_law_ink_follows_the_theme_and_role_colors_do_not():
    text, ink = svg(plot(title="ink")), palette.INK.lower()
    assert f"var(--at-ink, {ink})" in text
    assert ink not in text.replace(f"var(--at-ink, {ink})", "")
    assert palette.KEY.lower() in text


def test_law_a_figure_has_its_number_its_picture_and_the_values_for_its_words():
    page = show_figure("3.1", plot(), gap=torch.tensor(0.5), count=7, none=float("nan"), row="a")
    values = {"gap": 0.5, "count": 7, "none": "nan", "row": "a"}
    figure = {"number": "3.1", "start": 0, "frames": [{"label": "", "values": values}]}
    assert page._repr_mimebundle_() == ({}, {"figure": figure})
    seen = BeautifulSoup(page._repr_html_(), "html.parser")
    assert list(seen.strings) == [repr(page)] == ["Figure 3.1"]
    assert seen.select_one("figure#figure-3-1 a")["href"] == "#figure-3-1"
    (image,) = seen("img")
    assert image["alt"] == "Figure 3.1, described below"
    assert unquote(image["src"].partition(",")[2]) == svg(plot())


@pytest.mark.message
def test_message_text_that_is_too_small_or_cut_off():
    fig = plot()
    fig.axes[0].text(1, 1, "tiny", fontsize=8)
    with pytest.raises(ValueError, match=r"'tiny' has font size 8, on a phone 6\.2 .* use font size 11\.6 o"):
        show_figure("3.1", fig)
    fig, ax = new_figure(width=9.2)
    ax.set_title("wide")
    with pytest.raises(ValueError, match=r"font size 12, on a phone 4\.7 because the figure is 9\.2 in wide"):
        show_figure("3.1", fig)
    for x, y, side in ((9, 2, "right"), (-3, 2, "left"), (4, 9, "top"), (4, -3, "bottom")):
        fig, ax = new_canvas(10.0, 5.0)
        ax.annotate("a long label", (x, y), annotation_clip=False)
        with pytest.raises(ValueError, match=rf"beyond the {side} edge of its 4\.6 × 2\.3 in; make the fig"):
            show_figure("3.1", fig)


def test_law_a_readers_copy_shows_the_whole_of_a_drawing_that_needs_more_room(monkeypatch):
    def size(*texts):
        fig, ax = new_canvas(10.0, 5.0)
        for text in texts:
            ax.annotate(text, (-3, 9), annotation_clip=False)
        return [float(side) for side in re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg(fig)).groups()]

    edges = size()
    monkeypatch.delenv(STRICT)
    assert size() == edges
    assert all(side > edge + 50 for side, edge in zip(size("a long label"), edges, strict=True))
