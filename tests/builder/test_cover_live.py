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
from builder.site.front import cover
from tests.axe import violations
from tests.explorer_pages import FOCUSED, FRAME, HTML, pages, ready, translation, watched

FILE = (HTML / "index.html").as_uri()
RUN = ".at-alignment-run button"
OTHER = "The old man did not want to sell his house."
BROUGHT = {"explorer.js", "explorer.css", "engine.js", "en-de.js"}


def test_law_the_live_explorer_starts_with_the_sentence_of_the_picture():
    assert (first_frame.SENTENCE, first_frame.DIRECTION) == (cover.SENTENCE, cover.MODEL)
    weights = json.loads(cover.FILE.read_text(encoding="utf-8"))["weights"]
    shown = [
        [[round(100 * weight) for weight in row] for row in rows] for rows in (weights, FRAME["attention"])
    ]
    assert shown[0] == shown[1][:-1]  # the cover omits the end-of-sentence token


@pytest.fixture(scope="module")
def translated() -> dict[str, str]:
    """Return Python's translations of both sentences."""
    sentences = [cover.SENTENCE, OTHER]
    found = Translator.from_pretrained(cover.MODEL).translate(sentences)
    return dict(zip(sentences, found, strict=True))


def press(page: Page) -> None:
    """Press the button and wait for the translation."""
    page.click(RUN)
    page.wait_for_selector(".at-x-go")
    ready(page)


@pages
def test_law_the_button_loads_the_model_which_translates_the_typed_sentence(
    browser: Browser, translated: dict[str, str]
):
    faults: list[str] = []
    asked: list[str] = []
    with contextlib.closing(browser.new_context(reduced_motion="reduce")) as context:
        page = watched(context.new_page(), faults)
        page.on("request", lambda request: asked.append(Path(request.url.split("?")[0]).name))
        page.goto(FILE)
        page.wait_for_load_state("networkidle")
        assert page.inner_text(RUN) == f"Run this model in the page ({bundle.model_size(cover.MODEL)})"
        assert not BROUGHT & set(asked)
        page.emulate_media(media="print")
        page.locator(RUN).wait_for(state="hidden")
        assert page.locator(".at-alignment-picture").is_visible()
        page.emulate_media(media="screen")
        press(page)
        assert set(asked) >= BROUGHT
        assert "de-en.js" not in asked
        assert page.locator(".at-cover .at-alignment > .at-x").count() == 1
        assert page.locator(".at-alignment-picture").count() == 0
        assert translation(page) == translated[cover.SENTENCE]
        assert "Why morgen?" in page.inner_text(".at-x-why").replace("“", "").replace("”", "")
        page.fill(".at-x-field input", OTHER)
        page.click(".at-x-go")
        page.wait_for_function("document.querySelector('.at-x-translation q').textContent.includes('alte')")
        ready(page)
        assert translation(page) == translated[OTHER]
        assert page.evaluate("location.hash") == ""
        page.click(".at-alignment .at-x-label a")
        page.wait_for_url(lambda url: url.partition("#")[0].endswith("explorer.html"))
        assert page.input_value(".at-x-field input") == OTHER
        ready(page)  # no second button: this model is already loaded
        assert translation(page) == translated[OTHER]
    assert faults == []


@pages
def test_law_the_cover_needs_no_mouse(browser: Browser, translated: dict[str, str]):
    with contextlib.closing(browser.new_context(reduced_motion="reduce")) as context:
        page = context.new_page()
        page.goto(FILE)
        page.locator("button.at-alignment-word").first.focus()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent").startswith("Run this model")
        page.keyboard.press("Enter")
        page.wait_for_selector(".at-x-go")
        assert page.evaluate("document.activeElement.className") == "at-x-go"
        ready(page)
        assert page.evaluate("document.activeElement.className") == "at-x-go"
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Control+A")
        page.keyboard.type(OTHER)
        page.keyboard.press("Enter")
        page.wait_for_function("document.querySelector('.at-x-translation q').textContent.includes('alte')")
        ready(page)
        assert translation(page) == translated[OTHER]
        page.locator(".at-x-word[tabindex='0']").focus()
        page.keyboard.press("ArrowDown")
        assert page.evaluate(FOCUSED) == "query 1"
        assert page.locator(".at-x-queries .at-active").inner_text().startswith("alte")


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
