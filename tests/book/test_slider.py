"""What a slider figure promises: every frame is in it, the first stands alone, the keyboard moves it."""

import base64
import json
import re

import pytest

from annotated_transformer.book import new_canvas, show_slider
from annotated_transformer.book.figures import svg


def draw(value):
    fig, ax = new_canvas(4.0, 1.0)
    ax.text(2, 0.5, f"frame {value}", ha="center")
    return fig


def alt(value):
    return f"One line of text in the middle says: frame {value} </script>"


def slider(**changes):
    options = {"name": "width", "alt": alt, "caption": "Drag to 8: the frame changes.", "start": 2}
    return show_slider(draw, [2, 4, 8], **{**options, **changes})


def frames(page):
    data = re.search(r'<script type="application/json" class="at-frames">(.*?)</script>', page._repr_html_())[
        1
    ]
    return json.loads(data)


def test_law_each_frame_is_the_drawing_of_its_value():
    data = frames(slider(start=4))
    assert (data["name"], data["start"]) == ("width", 1)
    assert [frame["value"] for frame in data["frames"]] == ["2", "4", "8"]
    assert [frame["alt"] for frame in data["frames"]] == [alt(2), alt(4), alt(8)]
    for value, frame in zip([2, 4, 8], data["frames"], strict=True):
        assert base64.b64decode(frame["image"].partition(",")[2]).decode() == svg(draw(value))


def test_law_the_start_frame_stands_alone():
    html = slider(start=4)._repr_html_()
    image = re.search(r'<img [^>]*src="([^"]+)"', html)[1]
    assert image == frames(slider(start=4))["frames"][1]["image"]
    assert '<img class="at-svg"' in html


def test_law_two_builds_are_the_same_and_the_text_names_every_frame():
    assert slider()._repr_html_() == slider()._repr_html_()
    for value in (2, 4, 8):
        assert f"width {value}: {alt(value)}" in repr(slider())
    assert "Drag to 8: the frame changes." in repr(slider())


@pytest.mark.message
def test_message_one_value_cannot_move():
    with pytest.raises(ValueError, match=r"values=\[3\] gives nothing to move between; give two or more"):
        show_slider(draw, [3], name="width", alt=alt, caption="One.")


@pytest.mark.message
def test_message_the_start_is_one_of_the_values():
    with pytest.raises(ValueError, match=r"start=5 is not one of values=\[2, 4, 8\]; choose one of them"):
        slider(start=5)


@pytest.mark.message
def test_message_every_frame_needs_its_words():
    with pytest.raises(ValueError, match=r"alt='frame 8' has 2 words"):
        slider(alt=lambda value: "frame 8" if value == 8 else alt(value))


@pytest.mark.page
def test_law_the_keyboard_moves_it_without_a_kernel(chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.set_content(slider()._repr_html_() + slider(name="height", start=8)._repr_html_())
        first = page.get_by_role("slider", name="width")
        first.focus()
        assert first.get_attribute("aria-valuetext") == "2"
        for key, value in (("ArrowRight", 4), ("End", 8), ("ArrowLeft", 4), ("Home", 2), ("End", 8)):
            page.keyboard.press(key)
            assert first.get_attribute("aria-valuetext") == str(value)
            assert page.get_by_role("img", name=alt(value)).first.is_visible()
            assert f"frame {value}" in page.locator(".at-stage").first.text_content()
        assert page.get_by_role("slider", name="height").get_attribute("aria-valuetext") == "8"
        page.keyboard.press("Home")
        assert "frame 8" in page.locator(".at-stage").last.text_content()  # each moves alone
        assert page.locator("input").count() == 2
        assert not errors
        browser.close()


@pytest.mark.page
def test_law_a_notebook_that_inserts_the_figure_later_gets_it_moving_too(chromium):
    from playwright.sync_api import sync_playwright

    insert = """html => {
        const host = document.createElement("div");
        host.innerHTML = html;
        host.querySelectorAll("script").forEach(old => {
            const script = document.createElement("script");
            [...old.attributes].forEach(a => script.setAttribute(a.name, a.value));
            script.textContent = old.textContent;
            old.replaceWith(script);
        });
        document.body.append(host);
    }"""  # as JupyterLab does: the scripts run when the output is attached
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        for _ in range(2):
            page.evaluate(insert, slider()._repr_html_())
        assert page.locator("input").count() == 2
        page.locator("input").last.press("End")
        assert "frame 8" in page.locator(".at-stage").last.text_content()
        browser.close()
