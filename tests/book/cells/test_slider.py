"""A slider figure contains every frame, works without a script, and can be moved by keyboard."""

import json
import re
from urllib.parse import unquote

import pytest

from annotated_transformer.book.cells.slider import show_slider
from annotated_transformer.book.drawing.figures import new_canvas, svg


def draw(value):
    fig, ax = new_canvas(4.0, 1.0)
    ax.text(2, 0.5, f"frame {value}", ha="center")
    return fig


def slider(number="3.2", name="width", start=2):
    return show_slider(number, draw, [2, 4, 8], name=name, start=start)


def frames(page):
    data = re.search(r'<script type="application/json" class="at-frames">(.*?)</script>', page._repr_html_())
    return json.loads(data[1])


def test_law_each_frame_is_the_drawing_of_its_value_and_the_start_is_the_static_image():
    page = slider(start=4)
    data = frames(page)
    assert (data["name"], data["start"]) == ("width", 1)
    assert [frame["value"] for frame in data["frames"]] == ["2", "4", "8"]
    for value, frame in zip([2, 4, 8], data["frames"], strict=True):
        assert unquote(frame["image"].partition(",")[2]) == svg(draw(value))
    image = re.search(r'<img class="at-svg" [^>]*src="([^"]+)"', page._repr_html_())[1]
    assert image == data["frames"][1]["image"]


@pytest.mark.parametrize(
    ("values", "start", "first"),
    [([2, 4, 8], 5, 1), ([2, 4, 8], 64, 2), ([3], 64, 0), (["a", "b"], "c", 0), ([2, 4, 8], 8, 2)],
)
def test_law_where_a_reader_has_changed_the_values_the_slider_starts_at_the_nearest(values, start, first):
    page = show_slider("3.2", draw, values, name="width", start=start)
    assert frames(page)["start"] == first


@pytest.mark.message
def test_message_a_slider_without_values():
    with pytest.raises(ValueError, match="there are no values, and so there is no picture; give one or more"):
        show_slider("3.2", draw, [], name="width")


def shown(page, number=0):
    """Return the value that a slider announces, the one beside its name, and the one in its drawing."""
    figure = page.locator("figure.at-slider").nth(number)
    announced = figure.locator("input").get_attribute("aria-valuetext")
    drawing = figure.locator(".at-stage svg[role=img]")
    assert drawing.is_visible()
    words = re.search(r"frame (\d+)", drawing.text_content())[1]
    assert drawing.get_attribute("aria-label") == "Figure 3.2, described below".replace("2", "23"[number])
    return announced, figure.locator("output").text_content(), words


@pytest.mark.page
def test_law_the_keyboard_moves_the_slider_without_a_kernel(tab):
    tab.set_content(slider()._repr_html_() + slider("3.3", "height", 8)._repr_html_())
    assert tab.get_by_role("slider", name="width", exact=True).count() == 1
    assert tab.locator("output").first.get_attribute("aria-hidden") == "true"
    assert not re.search(
        r"\b2\b", tab.locator(".at-controls").first.aria_snapshot()
    )  # only the slider says it
    assert tab.evaluate("[...document.querySelector('input').list.options].map(o => +o.value)") == [0, 1, 2]
    tab.locator("input").first.focus()
    seen = [shown(tab)]
    for key in ("ArrowRight", "End", "ArrowLeft", "Home", "End"):
        tab.keyboard.press(key)
        seen.append(shown(tab))
    assert seen == [(value,) * 3 for value in ("2", "4", "8", "4", "2", "8")]
    assert shown(tab, 1) == ("8", "8", "8")
    tab.get_by_role("slider", name="height").press("Home")
    assert (shown(tab, 0), shown(tab, 1)) == (("8", "8", "8"), ("2", "2", "2"))  # sliders move independently
