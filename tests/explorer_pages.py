"""Helpers for testing pages, and the explorer's page, in a browser."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from playwright.sync_api import BrowserContext, Page

from annotated_transformer.book.explorer import first_frame
from builder.explorer import bundle

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
DOCUMENTS = [TOC["root"], *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"])]
WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 348, "height": 780}  # 360 pixels, less a scroll bar
ADDRESS = (HTML / "explorer.html").as_uri()
FRAME = json.loads(first_frame.FILE.read_text(encoding="utf-8"))
TOUR = json.loads((bundle.HERE / "tour.json").read_text(encoding="utf-8"))
SURE = FRAME["top"][5][0]["probability"]  # of "morgen", at token 6
NO = "Kein Wort."  # what the model makes of "No."
LINK = f"#direction=en-de&text={first_frame.SENTENCE.replace(' ', '+')}"
PRESS = "keys => keys.forEach(key => document.querySelector(`[data-key='${key}']`).click())"
EXPLAINED = ".at-x-number:not([aria-busy=true]) .at-x-same"  # not still that of the previous number


IDLE = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  await frame(); // the observers of the first have run
  await new Promise(done => requestIdleCallback(done, { timeout: 300 })); // after their own such calls
}"""
READY = """(button => button.getAttribute("aria-disabled") !== "true" && button.textContent === "Translate")(
  document.querySelector(".at-x-go"))"""
FOLLOW = """fragment => new Promise(followed => {
  const { href } = location;
  addEventListener("hashchange", followed, { once: true }); // after the explorer's own listener
  location.hash = fragment;
  if (location.href === href) followed(); // no change, so no event
})"""
SMALL = """() => [...document.querySelectorAll(".at-x :is(button, summary, input, [role=gridcell])")]
  .filter(x => x.checkVisibility() && x.closest("[hidden]") === null)
  .map(x => [x.outerHTML.slice(0, 90), x.getBoundingClientRect()])
  .filter(([, box]) => box.width && (box.width < 24 || box.height < 24))
  .map(([html, box]) => `${html} ${box.width} x ${box.height}`)"""
PATIENCE = 30  # seconds; only a wrong page waits this long


def eventually(read: Callable[[], object], wanted: object) -> None:
    """Wait until `read` returns this value, since a page answers after the call that it answers."""
    deadline = time.monotonic() + PATIENCE
    while (found := read()) != wanted and time.monotonic() < deadline:
        time.sleep(0.02)
    assert found == wanted


class BookPage:
    """A page in a browser, with what the tests of the book and of its explorer often do there."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def __getattr__(self, name: str) -> Any:
        return getattr(self.page, name)

    def watched(self, faults: list[str], *, fonts: bool = False) -> "BookPage":
        """Record external requests, missing files, and errors; without a server, font errors are expected."""
        here = ("file:", "blob:", "data:", "http://127.0.0.1")
        leaves = "request leaves the machine: "

        def said(message) -> None:
            font = "font" in message.text or "net::ERR_FAILED" in message.text
            if message.type == "error" and (fonts or not font):
                faults.append(f"console error: {message.text}")

        self.on("request", lambda asked: asked.url.startswith(here) or faults.append(f"{leaves}{asked.url}"))
        self.on("response", lambda answer: answer.status < 400 or faults.append(f"missing: {answer.url}"))
        self.on("pageerror", lambda error: faults.append(f"script error: {error}"))
        self.on("console", said)
        return self

    def resize(self, width: int, height: int) -> None:
        """Resize the page, and wait until its scripts have answered."""
        self.set_viewport_size({"width": width, "height": height})
        self.wait_for_function("width => innerWidth === width", arg=width)
        self.evaluate(IDLE)

    def size_faults(self, width: int) -> list[str]:
        """Report what is too small to be touched, and a page that is wider than the screen."""
        wide = self.evaluate("document.documentElement.scrollWidth")
        return [*self.evaluate(SMALL), *[f"{wide} px wide"] * (wide > width)]

    def settle(self) -> None:
        """Wait until everything that needs neither the engine nor a timer has run."""
        self.evaluate("() => new Promise(done => setTimeout(done))")

    # The explorer.

    def ready(self) -> None:
        """Wait until no translation runs."""
        self.wait_for_function(READY)

    def translate(self) -> None:
        """Press the button, which loads the model first if necessary, and wait for the translation."""
        self.click(".at-x-go")
        self.ready()

    def go(self, fragment: str) -> None:
        """Follow a link within the page, and wait for its translation."""
        self.evaluate(FOLLOW, fragment)
        self.ready()

    def explain(self, tensor: str, index: str, more: str = "") -> None:
        """Follow a link to a number of the default sentence, and wait for its explanation."""
        self.go(f"{LINK}{more}&tensor={tensor}&at={index}")
        self.wait_for_selector(EXPLAINED)

    def press(self, *keys: str) -> None:
        """Press the buttons with these keys at once, and wait for the translation."""
        self.evaluate(PRESS, [*keys])
        self.ready()

    def open_sections(self, places: str = ".at-x-section") -> None:
        """Open what is folded in these places."""
        self.locator(places).evaluate_all("all => all.forEach(part => { part.open = true; })")

    def compare(self) -> list[str]:
        """Compare the search methods, and return their translations."""
        self.click(".at-x-searches button")
        self.wait_for_selector(".at-x-searches tbody tr")
        found: list[str] = self.locator(".at-x-searches tbody td:nth-child(2)").all_inner_texts()
        return found

    def tour_says(self, number: int) -> None:
        """Wait until the tour has announced this step."""
        status = "document.querySelector('.at-x [role=status]').textContent"
        self.wait_for_function(f"{status}.startsWith('{number} of {len(TOUR['steps'])}: ')")

    @contextlib.contextmanager
    def replaced(self, call: str, body: str) -> Iterator[None]:
        """Replace an engine's call by JavaScript: `own` is the call, and `done` the end of this context."""
        self.evaluate(
            f"""() => {{
              const {{ prototype }} = EngineClient;
              const own = prototype.{call};
              const done = new Promise((end) => {{
                window.mend = () => (end(), (prototype.{call} = own), null);
              }});
              prototype.{call} = async function (...given) {{ {body} }};
            }}"""
        )
        try:
            yield
        finally:
            self.evaluate("mend()")

    def delayed(self, call: str) -> contextlib.AbstractContextManager[None]:
        """Let the engine answer no such call before the context ends."""
        return self.replaced(call, "await done; return own.apply(this, given);")

    def refused(self, call: str) -> contextlib.AbstractContextManager[None]:
        """Let the engine refuse such calls."""
        return self.replaced(call, "throw new Error('the engine is away; try again');")

    def start_second_engine(self) -> None:
        """Start an engine in addition to the page's, which stores what is shown."""
        self.evaluate(
            """() => {
              const { src } = document.querySelector("script[src*='explorer.js']");
              window.second = new EngineClient(src.replace(/\\/[^/]*$/, ""));
            }"""
        )

    def why(self) -> str:
        """Return the explanation of the token in focus."""
        return str(self.inner_text(".at-x-why"))

    def translation(self) -> str:
        """Return the translation that is shown."""
        return str(self.inner_text(".at-x-main .at-x-translation q"))

    def status(self) -> str:
        """Return what a screen reader was told last."""
        return str(self.inner_text(".at-x [role=status]"))

    def focused(self) -> str | None:
        """Return the key of the element in focus."""
        return self.evaluate("document.activeElement.dataset.key")


def loaded_page(context: BrowserContext, address: str, faults: list[str]) -> BookPage:
    page = BookPage(context.new_page()).watched(faults)
    page.goto(address)
    page.translate()
    return page
