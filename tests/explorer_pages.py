"""Helpers for testing pages, and the explorer's page, in a browser."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
DOCUMENTS = [TOC["root"], *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"])]
WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 348, "height": 780}  # 360 pixels, less a scroll bar

# `page.evaluate` waits for a promise for ever; `wait_for_function` gives up after the page's timeout.
IDLE = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  await frame(); // the observers of the first have run
  await new Promise(done => requestIdleCallback(done, { timeout: 300 })); // after their calls
  return true;
}"""
READY = """(go => go?.getAttribute("aria-disabled") !== "true" && go?.textContent === "Translate")(
  document.querySelector(".at-x-go")) && document.querySelector(".at-x-loading").hidden"""
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

    def idle(self) -> None:
        """Wait until the page's scripts have answered."""
        self.wait_for_function(IDLE)

    def resize(self, width: int, height: int) -> None:
        """Resize the page, and wait until its scripts have answered."""
        self.set_viewport_size({"width": width, "height": height})
        self.wait_for_function("width => innerWidth === width", arg=width)
        self.idle()

    def size_faults(self, width: int) -> list[str]:
        """Report what is too small to be touched, and a page that is wider than the screen."""
        wide = self.evaluate("document.documentElement.scrollWidth")
        return [*self.evaluate(SMALL), *[f"{wide} px wide"] * (wide > width)]

    # The explorer.

    def ready(self) -> None:
        """Wait until no translation runs."""
        self.wait_for_function(READY)

    def translation(self) -> str:
        """Return the translation that is shown."""
        return str(self.inner_text(".at-x-main .at-x-translation q"))
