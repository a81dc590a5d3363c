"""Measure how the book's pages load: `python -m benchmarks.pages [FOLDER] [PAGE …]`, after `make book`.

Chromium loads each page with an empty cache, the CPU throttled by a factor of 4, 1.6 Mbit/s, and 150 ms
latency, from a server that compresses. Printed for each page: the seconds until the first paint, until the
formulas on the first screen are visible, and until all formulas are rendered; the layout shift (Chromium's
CLS) until 4 seconds after loading and a scroll to the end; the KB sent, after compression; and the share of
code in the article's height. Run it on an otherwise idle machine.
"""

import contextlib
import gzip
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from benchmarks.serving import Quiet, serving

FOLDER = Path("_build/html")
PAGES = [f"chapters/{path.stem}" for path in sorted(Path("chapters").glob("*_*.ipynb"))]
NETWORK = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 93_750}
CPU_SLOWDOWN = 4
COMPRESSED = {".html", ".css", ".js", ".json", ".svg", ".ttf"}

WATCH = """
window.seen = {shift: 0, formulas: null, screen: null};
new PerformanceObserver(list => list.getEntries().forEach(e => e.hadRecentInput || (seen.shift += e.value)))
  .observe({type: "layout-shift", buffered: true});
const look = () => {
  const all = document.querySelectorAll("article .math");
  const unset = [...all].some(m => !m.querySelector("mjx-container"));
  const painted = performance.getEntriesByName("first-contentful-paint").length;
  const near = [...all].filter(m => m.getBoundingClientRect().top < 2 * innerHeight);
  const below = document.querySelector("article")?.getBoundingClientRect().bottom > 2 * innerHeight;
  const there = near.length || below || document.readyState !== "loading";  // or there are none so far up
  if (painted && there && seen.screen === null && near.every(m => m.querySelector("mjx-container")))
    seen.screen = performance.now();
  if (document.readyState !== "loading" && painted && !unset) seen.formulas = performance.now();
  else setTimeout(look, 50);
};
look();
"""
CODE_SHARE = """() => {
  const article = document.querySelector("article");
  const boxes = [...article.querySelectorAll(".cell_input, div.highlight, .cell_output pre")];
  const open = boxes.filter(b => !b.closest("details:not([open])"));
  const outer = open.filter(b => !open.some(o => o !== b && o.contains(b)));
  return outer.reduce((sum, b) => sum + b.getBoundingClientRect().height, 0) / article.clientHeight;
}"""


class Compressing(Quiet):
    """A request handler that compresses the file types a public server would, and counts the bytes sent."""

    sent = 0

    def do_GET(self) -> None:
        """Send a file."""
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        content = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        if path.suffix in COMPRESSED:
            content = gzip.compress(content, mtime=0)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(content)
            Compressing.sent += len(content)


def measure(browser: Browser, address: str, *, seconds: float = 4.0) -> dict[str, float]:
    """Load one page as on a slow device, and return the measurements.

    `seconds` is how long to watch for layout shifts before scrolling to the end.
    """
    Compressing.sent = 0
    with contextlib.closing(browser.new_context(viewport={"width": 1280, "height": 900})) as context:
        page = context.new_page()
        devtools = context.new_cdp_session(page)
        devtools.send("Network.enable")
        devtools.send("Network.emulateNetworkConditions", NETWORK)
        devtools.send("Emulation.setCPUThrottlingRate", {"rate": CPU_SLOWDOWN})
        page.add_init_script(WATCH)
        page.goto(address, wait_until="load", timeout=120_000)
        page.wait_for_function("seen.formulas !== null", timeout=120_000)
        page.wait_for_timeout(1000 * seconds)
        page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
        page.wait_for_timeout(1500)
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        seen = page.evaluate("seen")
        return {
            "first paint": paint / 1000,
            "screen": seen["screen"] / 1000,
            "formulas": seen["formulas"] / 1000,
            "shift": seen["shift"],
            "KB": Compressing.sent / 1000,
            "code": page.evaluate(CODE_SHARE),
        }


def main() -> None:
    """Print a line for each page."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    with serving(folder, Compressing) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in sys.argv[2:] or PAGES:
            measured = measure(browser, f"{address}{name}.html")
            print(
                f"{name:48} first paint {measured['first paint']:5.2f} s  "
                f"formulas {measured['screen']:5.2f} s, all {measured['formulas']:5.2f} s  "
                f"shift {measured['shift']:.3f}  {measured['KB']:5.0f} KB  code {measured['code']:.0%}",
                flush=True,
            )
        browser.close()


if __name__ == "__main__":
    main()
