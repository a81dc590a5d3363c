"""The cover's button replaces the picture with the explorer, which runs the model."""

import contextlib
import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from annotated_transformer.book.explorer import first_frame
from annotated_transformer.decoding.translator import Translator
from benchmarks.serving import serving
from builder.explorer import bundle
from builder.site.front import cover_data
from tests.axe import violations
from tests.explorer_pages import FOCUSED, FRAME, HTML, pages, ready, translation

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


def press(page: Page) -> None:
    page.click(RUN)
    page.wait_for_selector(".at-x-go")
    ready(page)


@pages
def test_law_the_button_loads_the_model_which_translates_the_typed_sentence(
    visitor: Page, translated: dict[str, str]
):
    asked: list[str] = []
    visitor.on("request", lambda request: asked.append(Path(request.url.split("?")[0]).name))
    visitor.goto(FILE)
    visitor.wait_for_load_state("networkidle")
    assert visitor.inner_text(RUN) == f"Run this model in the page ({bundle.model_size(cover_data.MODEL)})"
    assert not BROUGHT & set(asked)
    visitor.emulate_media(media="print")
    visitor.locator(RUN).wait_for(state="hidden")
    assert visitor.locator(".at-alignment-picture").is_visible()
    visitor.emulate_media(media="screen")
    press(visitor)
    assert set(asked) >= BROUGHT
    assert "de-en.js" not in asked
    assert visitor.locator(".at-cover .at-alignment > .at-x").count() == 1
    assert visitor.locator(".at-alignment-picture").count() == 0
    assert translation(visitor) == translated[cover_data.SENTENCE]
    assert "Why morgen?" in visitor.inner_text(".at-x-why").replace("“", "").replace("”", "")
    visitor.fill(".at-x-field input", OTHER)
    visitor.click(".at-x-go")
    visitor.wait_for_function("document.querySelector('.at-x-translation q').textContent.includes('alte')")
    ready(visitor)
    assert translation(visitor) == translated[OTHER]
    assert visitor.evaluate("location.hash") == ""
    visitor.click(".at-alignment .at-x-label a")
    visitor.wait_for_url(lambda url: url.partition("#")[0].endswith("explorer.html"))
    assert visitor.input_value(".at-x-field input") == OTHER
    ready(visitor)  # no second button: this model is already loaded
    assert translation(visitor) == translated[OTHER]


@pages
def test_law_the_cover_needs_no_mouse(visitor: Page, translated: dict[str, str]):
    visitor.goto(FILE)
    visitor.locator("button.at-alignment-word").first.focus()
    visitor.keyboard.press("Tab")
    assert visitor.evaluate("document.activeElement.textContent").startswith("Run this model")
    visitor.keyboard.press("Enter")
    visitor.wait_for_selector(".at-x-go")
    assert visitor.evaluate("document.activeElement.className") == "at-x-go"
    ready(visitor)
    assert visitor.evaluate("document.activeElement.className") == "at-x-go"
    visitor.keyboard.press("Shift+Tab")
    visitor.keyboard.press("Control+A")
    visitor.keyboard.type(OTHER)
    visitor.keyboard.press("Enter")
    visitor.wait_for_function("document.querySelector('.at-x-translation q').textContent.includes('alte')")
    ready(visitor)
    assert translation(visitor) == translated[OTHER]
    visitor.locator(".at-x-word[tabindex='0']").focus()
    visitor.keyboard.press("ArrowDown")
    assert visitor.evaluate(FOCUSED) == "query 1"
    assert visitor.locator(".at-x-queries .at-active").inner_text().startswith("alte")


SMALL = """() => [...document.querySelectorAll(".at-x :is(button, input)")]
  .map(x => x.getBoundingClientRect())
  .filter(box => box.width < 24 || box.height < 24).length"""


@pages
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 360)])
def test_law_the_live_cover_is_accessible_and_fits(browser: Browser, theme: str, width: int):
    options = {"viewport": {"width": width, "height": 800}, "color_scheme": theme, "reduced_motion": "reduce"}
    with contextlib.closing(browser.new_context(**options)) as context:
        page = context.new_page()
        page.goto(FILE)
        press(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(SMALL) == 0
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


@pages
@pytest.mark.parametrize("width", [1280, 360])
def test_law_layout_shift_is_small_before_the_button_is_pressed(browser: Browser, width: int):
    with (
        serving(HTML) as server,
        contextlib.closing(browser.new_context(viewport={"width": width, "height": 2000})) as context,
    ):
        page = context.new_page()
        page.add_init_script(SHIFT)
        page.goto(f"{server}index.html")
        page.wait_for_load_state("networkidle")
        page.evaluate("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
        assert page.evaluate("shift") <= STEADY
        page.evaluate("document.querySelector('.at-cover-text').remove()")
        page.wait_for_function(f"shift > {STEADY}")  # the browser does measure layout shifts


@pages
@pytest.mark.parametrize("missing", ["explorer.css", "explorer.js"])
def test_law_a_missing_explorer_is_reported_and_can_be_retried(browser: Browser, missing: str):
    with contextlib.closing(browser.new_context(reduced_motion="reduce")) as context:
        page = context.new_page()
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
        press(page)
        assert translation(page) == FRAME["text"]
