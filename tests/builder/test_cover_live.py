"""The cover's button replaces the picture with the explorer, which runs the model."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page

from annotated_transformer.book.explorer import first_frame
from annotated_transformer.decoding.translator import Translator
from builder.explorer import bundle
from builder.site.front import cover_data
from tests.axe import violations
from tests.explorer_pages import FRAME, HTML, eventually

FILE = (HTML / "index.html").as_uri()
RUN = ".at-alignment-run button"
OTHER = "The old man did not want to sell his house."
BROUGHT = {"explorer.js", "explorer.css", "engine.js", "en-de.js"}


def test_law_the_live_explorer_starts_with_the_sentence_of_the_picture():
    assert (first_frame.SENTENCE, first_frame.DIRECTION) == (cover_data.SENTENCE, cover_data.MODEL)
    weights = json.loads(cover_data.FILE.read_text(encoding="utf-8"))["weights"]
    shown = [
        [[round(100 * weight) for weight in row] for row in rows] for rows in (weights, FRAME["attention"])
    ]
    assert shown[0] == shown[1][:-1]  # the cover omits the end-of-sentence token


@pytest.fixture(scope="module")
def translated() -> dict[str, str]:
    sentences = [cover_data.SENTENCE, OTHER]
    found = Translator.from_pretrained(cover_data.MODEL).translate(sentences)
    return dict(zip(sentences, found, strict=True))


def run(page: Page) -> None:
    page.click(RUN)
    page.wait_for_selector(".at-x-go")
    page.ready()


@pytest.mark.page
def test_law_the_button_loads_the_model_which_translates_the_typed_sentence(visitor, translated):
    asked: list[str] = []
    visitor.on("request", lambda request: asked.append(Path(request.url.split("?")[0]).name))
    visitor.goto(FILE)
    visitor.wait_for_load_state("networkidle")
    assert visitor.inner_text(RUN) == f"Run this model in the page ({bundle.model_size(cover_data.MODEL)})"
    assert not BROUGHT & set(asked)
    visitor.emulate_media(media="print")
    for button in (RUN, ".at-cover-start"):
        visitor.locator(button).wait_for(state="hidden")
    assert visitor.locator(".at-alignment-picture").is_visible()
    visitor.emulate_media(media="screen")
    run(visitor)
    assert set(asked) >= BROUGHT
    assert "de-en.js" not in asked
    assert visitor.locator(".at-cover .at-alignment > .at-x").count() == 1
    assert visitor.locator(".at-alignment-picture").count() == 0
    assert visitor.translation() == translated[cover_data.SENTENCE]
    assert "Why morgen?" in visitor.inner_text(".at-x-why").replace("“", "").replace("”", "")
    visitor.fill(".at-x-field input", OTHER)
    visitor.translate()
    eventually(visitor.translation, translated[OTHER])
    visitor.ready()
    assert visitor.evaluate("location.hash") == ""
    visitor.click(".at-alignment .at-x-label a")
    visitor.wait_for_url(lambda url: url.partition("#")[0].endswith("explorer.html"))
    assert visitor.input_value(".at-x-field input") == OTHER
    visitor.ready()  # no second button: this model is already loaded
    assert visitor.translation() == translated[OTHER]


@pytest.mark.page
def test_law_the_cover_needs_no_mouse(visitor, translated: dict[str, str]):
    visitor.goto(FILE)
    visitor.locator("button.at-alignment-word").first.focus()
    visitor.keyboard.press("Tab")
    assert visitor.evaluate("document.activeElement.textContent").startswith("Run this model")
    visitor.keyboard.press("Enter")
    visitor.wait_for_selector(".at-x-go")
    assert visitor.evaluate("document.activeElement.className") == "at-x-go"
    visitor.ready()
    assert visitor.evaluate("document.activeElement.className") == "at-x-go"
    visitor.keyboard.press("Shift+Tab")
    visitor.keyboard.press("Control+A")
    visitor.keyboard.type(OTHER)
    visitor.keyboard.press("Enter")
    eventually(visitor.translation, translated[OTHER])
    visitor.ready()
    visitor.locator(".at-x-word[tabindex='0']").focus()
    visitor.keyboard.press("ArrowDown")
    assert visitor.focused() == "query 1"
    assert visitor.locator(".at-x-queries .at-active").inner_text().startswith("alte")


@pytest.mark.page
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 360)])
def test_law_the_live_cover_is_accessible_and_fits(open_page, theme, width):
    size = {"width": width, "height": 800}
    page = open_page(FILE, viewport=size, color_scheme=theme, reduced_motion="reduce")
    run(page)
    assert page.size_faults(width) == []
    left, right = page.evaluate(
        "['.at-alignment', '.at-alignment .at-x-stage'].map(e => document.querySelector(e))"
        ".map(e => e.getBoundingClientRect()).map(box => [box.left, box.right])"
    )
    assert left[0] <= right[0] <= right[1] <= left[1]
    button = page.locator(".at-x-go").bounding_box()
    assert button
    assert 0 <= button["y"] <= 700  # in view, whether the picture was taller or shorter
    assert violations(page, ".bd-article") == []


SHIFT = """
  window.shift = 0;
  const inArticle = ({ node }) => node?.parentElement?.closest("article");
  const note = (entry) => { if (entry.sources.some(inArticle)) shift += entry.value; };
  new PerformanceObserver((list) => list.getEntries().forEach(note))
    .observe({ type: "layout-shift", buffered: true });
"""
STEADY = 0.02  # share of the window; a late font may shift a line


@pytest.mark.page
@pytest.mark.parametrize("width", [1280, 360])
def test_law_layout_shift_is_small_before_the_button_is_pressed(open_page, width):
    page = open_page(viewport={"width": width, "height": 2000})
    page.add_init_script(SHIFT)
    page.goto("index.html", wait_until="networkidle")
    page.evaluate("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
    assert page.evaluate("shift") <= STEADY
    page.evaluate("document.querySelector('.at-cover-text').remove()")
    page.wait_for_function(f"shift > {STEADY}")  # the browser does measure layout shifts


@pytest.mark.page
@pytest.mark.parametrize("missing", ["explorer.css", "explorer.js"])
def test_law_a_missing_explorer_is_reported_and_can_be_retried(open_page, missing: str):
    page = open_page(reduced_motion="reduce")
    page.route(f"**/{missing}", lambda route: route.abort())
    page.goto(FILE)
    words = page.inner_text(RUN)
    page.click(RUN)
    page.wait_for_function("document.querySelector('.at-alignment-run p').textContent")
    said = page.inner_text(".at-alignment-run [role=alert]")
    assert said.startswith("The explorer could not be loaded from ")
    assert said.endswith(f"{missing}; try again.")
    assert page.inner_text(RUN) == words
    page.unroute(f"**/{missing}")
    run(page)
    assert page.translation() == FRAME["text"]
