"""Helpers for testing the explorer's page in a browser."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page

from annotated_transformer.book.explorer import first_frame
from builder.explorer import bundle

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
ADDRESS = (HTML / "explorer.html").as_uri()
FRAME = json.loads(first_frame.FILE.read_text(encoding="utf-8"))
TOUR = json.loads((bundle.HERE / "tour.json").read_text(encoding="utf-8"))
SURE = FRAME["top"][5][0]["probability"]  # of "morgen", at token 6
NO = "Kein Wort."  # what the model makes of "No."
LINK = f"#direction=en-de&text={first_frame.SENTENCE.replace(' ', '+')}"
PRESS = "keys => keys.forEach(key => document.querySelector(`[data-key='${key}']`).click())"
FOCUSED = "document.activeElement.dataset.key"
EXPLAINED = ".at-x-number:not([aria-busy=true]) .at-x-same"  # not still that of the previous number
GROWING = "!document.querySelector('.at-x-queries button') && document.querySelector('.at-x-queries li')"
SECOND_ENGINE = """() => {
  const { src } = document.querySelector("script[src*='explorer.js']");
  window.second = new EngineClient(src.replace(/\\/[^/]*$/, ""));
}"""  # in addition to the page's engine, which stores what is shown

pages = pytest.mark.page


def watched(page: Page, faults: list[str], *, fonts: bool = False) -> Page:
    """Record external requests and console errors; without a server, font errors are expected."""

    def asked(request) -> None:
        if not request.url.startswith(("file:", "blob:", "data:", "http://127.0.0.1")):
            faults.append(f"request leaves the machine: {request.url}")

    def said(message) -> None:
        font = "font" in message.text or "net::ERR_FAILED" in message.text
        if message.type == "error" and (fonts or not font):
            faults.append(message.text)

    page.on("request", asked)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", said)
    return page


PATIENCE = 30  # seconds; only a wrong page waits this long


def eventually(read: Callable[[], object], wanted: object) -> None:
    """Wait until `read` returns this value, since a page answers after the call that it answers."""
    deadline = time.monotonic() + PATIENCE
    while (found := read()) != wanted and time.monotonic() < deadline:
        time.sleep(0.02)
    assert found == wanted


IDLE = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  await frame(); // the observers of the first have run
  await new Promise(done => requestIdleCallback(done, { timeout: 300 })); // after their own such calls
}"""


def resize(page: Page, width: int, height: int) -> None:
    """Resize the page, and wait until its scripts have answered."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_function("width => innerWidth === width", arg=width)
    page.evaluate(IDLE)


READY = """(button => button.getAttribute("aria-disabled") !== "true" && button.textContent === "Translate")(
  document.querySelector(".at-x-go"))"""


def ready(page: Page) -> None:
    page.wait_for_function(READY)


def loaded_page(context: BrowserContext, address: str, faults: list[str]) -> Page:
    page = watched(context.new_page(), faults)
    page.goto(address)
    page.click(".at-x-go")
    ready(page)
    return page


FOLLOW = """fragment => new Promise(followed => {
  const { href } = location;
  addEventListener("hashchange", followed, { once: true }); // after the explorer's own listener
  location.hash = fragment;
  if (location.href === href) followed(); // no change, so no event
})"""


def go(page: Page, fragment: str) -> None:
    page.evaluate(FOLLOW, fragment)
    ready(page)


@contextlib.contextmanager
def replaced(page: Page, call: str, body: str) -> Iterator[None]:
    """Replace a call of the engine by JavaScript: `own` is the call, and `done` the end of this context."""
    page.evaluate(
        f"""() => {{
          const {{ prototype }} = EngineClient;
          const own = prototype.{call};
          window.counted = 0;
          const done = new Promise((end) => {{
            window.mend = () => (end(), (prototype.{call} = own), null);
          }});
          prototype.{call} = async function (...given) {{ {body} }};
        }}"""
    )
    try:
        yield
    finally:
        page.evaluate("mend()")


LATER = "await done; return own.apply(this, given);"  # nothing is answered before the context ends
REFUSED = "throw new Error('the engine is away; try again');"
COUNTED = "counted += 1; return own.apply(this, given);"


def settle(page: Page) -> None:
    """Wait until everything that needs neither the engine nor a timer has run."""
    page.evaluate("() => new Promise(done => setTimeout(done))")


def why(page: Page) -> str:
    return page.inner_text(".at-x-why")


def translation(page: Page) -> str:
    return page.inner_text(".at-x-main .at-x-translation q")
