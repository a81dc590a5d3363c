"""Figures are reproducible, use the page's colors, have alt texts, and stay legible on a phone."""

import re
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from matplotlib.lines import Line2D
from matplotlib.transforms import Affine2D

from annotated_transformer.book.cells.check import STRICT
from annotated_transformer.book.chapters.decoding.step_figures import draw_processed
from annotated_transformer.book.drawing.boxes import Box, draw_arrow, draw_box, draw_weight
from annotated_transformer.book.drawing.figures import (
    digest,
    figure_output,
    new_canvas,
    new_figure,
    svg,
    words_digest,
)
from annotated_transformer.plotting import palette

ALT = "Two lines cross: one climbs from 1 to 3, the other falls from 3 to 1."
CAPTION = "Where √dₖ & <scores> cross."


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


def show(fig, **changes):
    words = {"number": "3.1", "title": "Two lines & a <cross>", "alt": ALT, "caption": CAPTION}
    return figure_output(fig, **{**words, **changes})


def decoded(html):
    return unquote(re.search(r"svg\+xml,([^\"]+)", html)[1])


def test_law_drawing_the_same_figure_twice_gives_the_same_bytes():
    assert svg(plot(title="same")) == svg(plot(title="same"))
    assert svg(plot(title="same")) != svg(plot(title="other"))


def test_law_an_svg_contains_no_date_no_metadata_and_no_style_sheet():
    text = svg(plot())
    assert not re.search(r"<style|<metadata|<!--|matplotlib|20\d\d-", text)
    assert ElementTree.fromstring(text).tag.endswith("svg")


def test_law_referenced_ids_exist_and_are_unique_to_each_figure():
    texts = svg(plot(title="one")), svg(plot(title="two"))
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in texts]
    for own, text in zip(ids, texts, strict=True):
        referred = set(re.findall(r'(?:url\(#|href="#)([^")]+)', text))
        assert referred
        assert referred <= own
    assert not ids[0] & ids[1]


def test_law_text_stays_text_and_only_coordinates_are_rounded():
    fig = plot(title="0.123456 wide")
    points = Affine2D().scale(1 / 72) + fig.dpi_scale_trans  # from the lower left corner
    fig.add_artist(Line2D([10.001, 100.3004], [20.004, 30.25], transform=points, gid="at-line"))
    text = svg(fig)
    assert ">0.123456 wide</text>" in text
    assert not re.search(r' d="[^"]*\d\.\d{3}', text)
    line = re.search(r'at-line">\s*<path d="M (\S+) \S+\s+L (\S+)', text)
    assert line
    assert line.groups() == ("10", "100.3")


def test_law_ink_follows_the_theme_and_role_colors_do_not():
    text = svg(plot(title="ink"))
    ink = palette.INK.lower()
    assert f"var(--at-ink, {ink})" in text
    assert ink not in text.replace(f"var(--at-ink, {ink})", "")
    assert palette.KEY.lower() in text


def test_law_a_figure_has_its_number_title_picture_alt_text_and_caption():
    page = show(plot())
    assert repr(page) == f"Figure 3.1. Two lines & a <cross>\n\n{ALT}\n\n{CAPTION}"
    seen = BeautifulSoup(page._repr_html_(), "html.parser")
    assert list(seen.strings) == ["Figure 3.1", " Two lines & a <cross>", CAPTION]
    assert [figure.attrs for figure in seen("figure")] == [{"class": ["at-figure"], "id": "figure-3-1"}]
    assert [link.attrs for link in seen("a")] == [{"class": ["at-figure-number"], "href": "#figure-3-1"}]
    (image,) = seen("img")
    assert (image["class"], image["alt"]) == (["at-svg"], ALT)
    assert not seen("script")  # because there is no attention map
    assert decoded(page._repr_html_()) == svg(plot())


def test_law_a_figures_digests_are_of_its_drawing_and_its_alt_text():
    (image,) = BeautifulSoup(show(plot())._repr_html_(), "html.parser")("img")
    drawing = svg(plot())
    assert image["data-drawn"] == digest(drawing, ALT)
    assert image["data-words"] == words_digest(drawing)
    assert re.fullmatch(r"[0-9a-f]{8}", image["data-drawn"])
    assert re.fullmatch(r"[0-9a-f]{8}", image["data-words"])
    assert len({digest("a", "b"), digest("ab"), digest("b", "a"), digest("", "ab")}) == 4


def test_law_the_words_digest_changes_with_the_text_but_not_with_low_digits():
    def words(title, height=3.0, lines=1):
        fig, ax = new_figure()
        for _ in range(lines):
            ax.plot([1, 2], [1, height], marker="")
        ax.set_title(title)
        ax.set_yticks([])
        return words_digest(svg(fig))

    assert words("a line", 2.999) == words("a line")
    assert words("0.50 wide") == words("0.51 wide")
    assert words("a line") != words("a lime")
    assert words("two words") != words("words two")
    assert words("a line") != words("a line", lines=2)


@pytest.mark.message
@pytest.mark.parametrize("number", ["3", "3.1.1", "figure 3.1", "AB.1"])
def test_message_an_invalid_figure_number(number):
    with pytest.raises(ValueError, match=r"does not number a figure; write chapter\.figure, such as '3\.1'"):
        show(plot(), number=number)


def test_law_a_guides_figure_has_a_letter():
    assert 'id="figure-G-2"' in show(plot(), number="G.2")._repr_html_()


@pytest.mark.message
def test_message_an_alt_text_that_is_too_short_or_too_long():
    with pytest.raises(ValueError, match=r"alt='Two lines.' has 2 words; say what the figure shows in 8 or"):
        show(plot(), alt="Two lines.")
    with pytest.raises(ValueError, match="has 81 words; a listener follows 80: say what is seen and what"):
        show(plot(), alt="word " * 81)
    show(plot(), alt="word " * 80)
    show(plot(), alt="word " * 8)


@pytest.mark.message
def test_message_title_and_caption_are_required():
    for title in ("", " ", "Two lines cross."):
        with pytest.raises(ValueError, match="is not a title; say in a few words, without a period"):
            show(plot(), title=title)
    with pytest.raises(ValueError, match="caption is empty; say in one sentence"):
        show(plot(), caption=" ")


@pytest.mark.message
def test_message_small_text_is_refused_with_a_sufficient_font_size():
    fig = plot()
    fig.axes[0].text(1, 1, "tiny", fontsize=8)
    with pytest.raises(ValueError, match=r"'tiny' has font size 8, on a phone 6\.2 .* use font size 11\.6 o"):
        show(fig)


@pytest.mark.message
def test_message_a_wide_figure_is_refused_because_a_phone_shrinks_it():
    fig, ax = new_figure(width=9.2)
    ax.set_title("wide")
    with pytest.raises(ValueError, match=r"font size 12, on a phone 4\.7 because the figure is 9\.2 in wide"):
        show(fig)


@pytest.mark.message
@pytest.mark.parametrize(
    ("x", "y", "side"), [(9, 2, "right"), (-3, 2, "left"), (4, 9, "top"), (4, -3, "bottom")]
)
def test_message_text_cut_off_by_the_edge_is_refused(x, y, side):
    fig, ax = new_canvas(10.0, 5.0)
    draw_arrow(ax, (2.0, 2.0), (3.0, 2.0))
    ax.annotate("a long label", (x, y), annotation_clip=False)
    with pytest.raises(ValueError, match=rf"beyond the {side} edge of its 4\.6 × 2\.3 in; make the figure l"):
        show(fig)


def test_law_a_readers_copy_shows_the_whole_of_a_drawing_that_needs_more_room(monkeypatch):
    def drawing():
        fig, ax = new_canvas(10.0, 5.0)
        ax.annotate("a long label", (-3, 9), annotation_clip=False)
        ax.text(1, 1, "tiny", fontsize=8)
        return fig

    def size(html):
        return [float(side) for side in re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', html).groups()]

    fitting, _ = new_canvas(10.0, 5.0)
    edges = size(svg(fitting))
    monkeypatch.delenv(STRICT)
    assert size(svg(fitting)) == edges
    assert all(side > edge + 50 for side, edge in zip(size(svg(drawing())), edges, strict=True))
    assert "word word" in show(drawing(), alt="word " * 81)._repr_html_()


def test_law_the_book_and_a_readers_copy_have_the_same_panels(monkeypatch):
    def drawing():
        shares = {"house": 0.45, "home": 0.25, "flat": 0.15, "hut": 0.1, "mouse": 0.05}
        return draw_processed({f"top-p, p = 0.{number}": shares for number in range(6)})

    book = svg(drawing())
    monkeypatch.delenv(STRICT)
    assert svg(drawing()) == book


def test_law_the_sides_of_a_box_meet_the_arrows():
    fig, ax = new_canvas(10.0, 5.0)
    box = draw_box(ax, 2.0, 1.0, 2.5, 1.5, "Q", color=palette.QUERY)
    assert (box.left, box.right) == ((2, 1.75), (4.5, 1.75))
    assert (box.bottom, box.top, box.center) == ((3.25, 1), (3.25, 2.5), (3.25, 1.75))
    draw_arrow(ax, box.right, draw_box(ax, 7.0, 1.3, 2.0, 0.9, "softmax").left, "scores")
    draw_arrow(ax, box.bottom, (3.25, 0.25), "down")
    words = re.findall(r">([^<>]+)</text>", svg(fig))
    assert {"Q", "softmax", "scores", "down"} <= set(words)


def test_law_a_line_is_as_wide_as_its_weight_but_never_too_thin_to_see():
    _, ax = new_canvas(10.0, 5.0)
    for weight in (0.01, 0.5, 1.0):
        draw_weight(ax, (1.0, 2.0), (3.0, 4.0), weight)
    assert [line.get_linewidth() for line in ax.lines] == [0.6, 4.5, 9.0]
    assert ax.lines[0].get_xydata().tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("x", "y", "sides"),
    [
        (8, 2, ("right", "left")),
        (-8, 1, ("left", "right")),
        (0, 8, ("top", "bottom")),
        (1, -8, ("bottom", "top")),
    ],
)
def test_law_an_arrow_between_boxes_runs_from_side_to_side(x, y, sides):
    _, ax = new_canvas(20.0, 20.0)
    here, there = Box(9.0, 9.0, 2.0, 1.0), Box(9.0 + x, 9.0 + y, 2.0, 1.0)
    draw_arrow(ax, here, there)
    (arrow,) = ax.patches
    assert arrow._posA_posB == [getattr(here, sides[0]), getattr(there, sides[1])]
    assert (arrow.shrinkA, arrow.shrinkB) == (0, 0)  # the tip touches the edge


def test_law_an_arrow_may_run_from_a_point_to_a_box():
    _, ax = new_canvas(20.0, 20.0)
    box = Box(9.0, 9.0, 2.0, 1.0)
    draw_arrow(ax, (1.0, 9.5), box)
    draw_arrow(ax, box, (10.0, 19.0), "up")
    assert [arrow._posA_posB for arrow in ax.patches] == [[(1, 9.5), box.left], [box.top, (10, 19)]]
    assert [text.get_text() for text in ax.texts] == ["up"]
