"""What a figure promises: the same bytes, the page's colours, words for everyone, letters for a phone."""

import base64
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
import torch

from annotated_transformer.book import (
    draw_arrow,
    draw_attention,
    draw_box,
    draw_tensor,
    new_canvas,
    new_figure,
    palette,
    show_figure,
)
from annotated_transformer.book.figures import svg

ALT = "Two lines cross: one climbs from 1 to 3, the other falls from 3 to 1."
CAPTION = "Where √dₖ & <scores> cross."


def plot(**labels):
    fig, ax = new_figure()
    ax.plot([1, 2, 3], [1, 2, 3])
    ax.plot([1, 2, 3], [3, 2, 1])
    ax.set(**labels)
    return fig


def decoded(html):
    return base64.b64decode(re.search(r"base64,([^\"]+)", html)[1]).decode()


def test_law_two_drawings_of_the_same_are_the_same_bytes():
    assert svg(plot(title="same")) == svg(plot(title="same"))
    assert svg(plot(title="same")) != svg(plot(title="other"))


def test_law_no_date_no_maker_and_no_style_that_leaks_into_the_page():
    text = svg(plot())
    assert not re.search(r"<style|<metadata|<!--|matplotlib|20\d\d-", text)
    assert ElementTree.fromstring(text).tag.endswith("svg")


def test_law_every_id_that_is_referred_to_exists_and_is_the_figures_own():
    texts = svg(plot(title="one")), svg(plot(title="two"))
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in texts]
    for own, text in zip(ids, texts, strict=True):
        referred = set(re.findall(r'(?:url\(#|href="#)([^")]+)', text))
        assert referred
        assert referred <= own
    assert not ids[0] & ids[1]


def test_law_words_stay_words_and_numbers_in_them_are_not_rounded():
    text = svg(plot(title="0.123456 wide"))
    assert ">0.123456 wide</text>" in text
    assert not re.search(r' d="[^"]*\d\.\d{3}', text)


def test_law_ink_follows_the_page_and_a_role_does_not():
    text = svg(plot(title="ink"))
    ink = palette.INK.lower()
    assert f"var(--at-ink, {ink})" in text
    assert ink not in text.replace(f"var(--at-ink, {ink})", "")
    assert palette.KEY.lower() in text


def test_law_a_figure_is_an_image_with_its_alt_text_and_its_caption():
    page = show_figure(plot(), alt=ALT, caption=CAPTION)
    assert repr(page) == f"{ALT}\n\n{CAPTION}"
    found = {}

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            found[tag] = dict(attributes)

        def handle_data(self, data):
            found["text"] = found.get("text", "") + data

    Reader().feed(page._repr_html_())
    assert found["figure"]["class"] == "at-figure"
    assert found["img"]["alt"] == ALT
    assert found["img"]["class"] == "at-svg"
    assert found["text"] == CAPTION
    assert decoded(page._repr_html_()) == svg(plot())


@pytest.mark.message
def test_message_a_short_alt_text_is_counted():
    with pytest.raises(
        ValueError, match=r"alt='Two lines.' has 2 words; say what the figure shows in 8 or more"
    ):
        show_figure(plot(), alt="Two lines.", caption=CAPTION)


@pytest.mark.message
def test_message_a_caption_is_required():
    with pytest.raises(ValueError, match="caption is empty; say in one sentence"):
        show_figure(plot(), alt=ALT, caption=" ")


@pytest.mark.message
def test_message_small_letters_are_refused_with_the_size_that_would_do():
    fig = plot()
    fig.axes[0].text(1, 1, "tiny", fontsize=8)
    with pytest.raises(
        ValueError, match=r"'tiny' has font size 8, on a phone 6\.2 .* use font size 11\.6 or"
    ):
        show_figure(fig, alt=ALT, caption=CAPTION)


@pytest.mark.message
def test_message_a_wide_figure_is_refused_because_a_phone_shrinks_it():
    fig, ax = new_figure(width=9.2)
    ax.set_title("wide")
    with pytest.raises(ValueError, match=r"font size 12, on a phone 4\.7 because the figure is 9\.2 in wide"):
        show_figure(fig, alt=ALT, caption=CAPTION)


@pytest.mark.message
@pytest.mark.parametrize(
    ("x", "y", "side"), [(9, 2, "right"), (-3, 2, "left"), (4, 9, "top"), (4, -3, "bottom")]
)
def test_message_what_the_edge_cuts_off_is_refused(x, y, side):
    fig, ax = new_canvas(10.0, 5.0)
    draw_arrow(ax, (2.0, 2.0), (3.0, 2.0))
    ax.annotate("a long label", (x, y), annotation_clip=False)
    with pytest.raises(
        ValueError, match=rf"beyond the {side} edge of its 4\.6 × 2\.3 in; make the figure larger"
    ):
        show_figure(fig, alt=ALT, caption=CAPTION)


def test_law_a_tensor_keeps_its_proportions_and_its_sides_meet_the_arrows():
    fig, ax = new_canvas(10.0, 5.0)
    box = draw_tensor(ax, 2.0, 1.0, 3, 5, palette.QUERY, "Q", axes=("queries", "d_k"), unit=0.5)
    assert (box.width, box.height) == (2.5, 1.5)
    assert (box.left, box.right) == ((2, 1.75), (4.5, 1.75))
    assert (box.bottom, box.top, box.center) == ((3.25, 1), (3.25, 2.5), (3.25, 1.75))
    draw_arrow(ax, box.right, draw_box(ax, 7.0, 1.3, 2.0, 0.9, "softmax").left, "scores")
    draw_arrow(ax, box.bottom, (3.25, 0.25), "down")
    words = re.findall(r">([^<>]+)</text>", svg(fig))
    assert {"Q", "queries", "d_k", "softmax", "scores", "down"} <= set(words)


def map_of(weights, **options):
    fig, ax = new_figure(height=4.2)
    rows, columns = weights.shape
    draw_attention(ax, weights, [f"q{i}" for i in range(rows)], [f"k{i}" for i in range(columns)], **options)
    return fig, ax


def test_law_an_attention_map_has_queries_down_and_keys_across():
    weights = torch.tensor([[0.125, 0.875, 0.0], [0.25, 0.25, 0.5]])
    fig, ax = map_of(weights)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("keys", "queries")
    assert ax.get_ylim() == (2, 0)  # the first query on top
    written = {(text.get_position()): text.get_text() for text in ax.texts}
    assert written[(1.5, 0.5)] == "0.88"
    assert written[(0.5, 1.5)] == "0.25"
    assert {"k0", "k1", "k2", "q0", "q1", "keys", "queries"} <= set(re.findall(r">([^<>]+)</text>", svg(fig)))


def test_law_a_weight_is_rounded_once():
    _, ax = map_of(torch.tensor([[0.1548, 0.8452]]))  # 0.155 on the way would end at 0.15 and 0.84
    assert [text.get_text() for text in ax.texts] == ["0.15", "0.85"]
    _, ax = map_of(torch.tensor([[0.1554, 0.8446]]))
    assert [text.get_text() for text in ax.texts] == ["0.16", "0.84"]


def test_law_the_scale_is_fixed_and_its_grey_falls_as_the_weight_grows():
    _, ax = map_of(torch.tensor([[0.0, 0.2], [0.2, 0.2]]))
    _, other = map_of(torch.tensor([[0.0, 0.2], [0.8, 1.0]]))
    assert ax.patches[1].get_facecolor() == other.patches[1].get_facecolor()
    greys = [sum(patch.get_facecolor()[:3]) for patch in other.patches]
    assert greys == sorted(greys, reverse=True)
    assert len(set(greys)) == 4


def test_law_a_number_stands_out_from_its_cell():
    def light(colour):
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05

    for weight in range(0, 101, 2):
        _, ax = map_of(torch.full((1, 1), weight / 100))
        ink = 1.05 if ax.texts[0].get_color() == "#ffffff" else 0.05
        cell = light(ax.patches[0].get_facecolor())
        assert max(ink, cell) / min(ink, cell) >= 4.5, weight


def test_law_what_a_mask_hides_is_hatched_and_carries_no_number():
    mask = torch.tensor([[True, False], [True, True]])
    fig, ax = map_of(torch.tensor([[1.0, 0.0], [0.5, 0.5]]), mask=mask)
    assert [bool(patch.get_hatch()) for patch in ax.patches] == [False, True, False, False]
    assert len(ax.texts) == 3
    assert "<pattern" in svg(fig)


def test_law_a_large_map_prints_no_numbers_and_holds_no_pixels():
    fig, ax = map_of(torch.full((9, 7), 1 / 7))
    assert not ax.texts
    assert "<image" not in svg(fig)


@pytest.mark.message
def test_message_words_and_weights_of_different_number():
    _, ax = new_figure()
    with pytest.raises(
        ValueError, match=r"weights has shape \(2, 3\), but there are \(2, 2\) queries and keys"
    ):
        draw_attention(ax, torch.zeros(2, 3), ["a", "b"], ["a", "b"])
    mask = torch.ones(3, 2, dtype=torch.bool)
    with pytest.raises(ValueError, match=r"mask has shape \(3, 2\), but there are \(2, 2\) queries and keys"):
        draw_attention(ax, torch.zeros(2, 2), ["a", "b"], ["a", "b"], mask=mask)


@pytest.mark.message
@pytest.mark.parametrize(
    ("bad", "seen"), [(-1.5, "-1.5000 to 0.0000"), (2.0, "0.0000 to 2.0000"), (float("nan"), "nan to nan")]
)
def test_message_scores_are_no_weights(bad, seen):
    _, ax = new_figure()
    with pytest.raises(ValueError, match=f"weights run from {seen}; draw them after the softmax"):
        draw_attention(ax, torch.tensor([[0.0, bad]]), ["a"], ["b", "c"])
