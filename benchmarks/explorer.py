"""Speed of the explorer's engine in a browser: `python -m benchmarks.explorer [--rounds N]`.

Chromium translates sentences of 12 or 13 words with the shipped English–German model, at full speed and with
the CPU throttled by factors of 4 and 6, similar to cheap laptops and phones. It runs on the page's main
thread, because Chromium's throttling does not affect workers. Measured: milliseconds per sentence for greedy
search and for a beam of 4, the time to load the model, and the page's memory after that.
"""

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import CDPSession, Page, sync_playwright

from benchmarks.record import describe_code, result_file, write_result
from benchmarks.serving import serving
from builder.explorer import pack

SLOWDOWNS = (1, 4, 6)
SENTENCES = (
    "I gave the old man a book because he had asked for it.",
    "She has never been to the city where her parents were born.",
    "The children did not want to go home before it was dark.",
    "We would like to know what you think about the new house.",
)
PAGE = '<!doctype html><title>engine</title><script src="engine.js"></script>'
LOAD = """async () => {
  const start = performance.now();
  const model = await fetchModel(".", "en-de");
  const parts = transformerEngine();
  window.translator = new parts.Translator({ ...model, weights: parts.bytesOf(model.weights) });
  return performance.now() - start;
}"""
TRANSLATE = """([text, method]) => {
  const start = performance.now();
  const steps = translator.search(translator.encode(text), { method });
  while (!steps.next().done);
  return performance.now() - start;
}"""


def measure(page: Page, address: str, rounds: int, slowdowns: Sequence[int] = SLOWDOWNS) -> dict[str, Any]:
    """Return the page's measurements; the first round of each case is not counted."""
    devtools = page.context.new_cdp_session(page)
    page.goto(f"{address}index.html")
    measured: dict[str, Any] = {"load_ms": page.evaluate(LOAD), "megabytes": megabytes(devtools), "ms": {}}
    for slowdown in slowdowns:
        devtools.send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
        for method in ("greedy", "beam"):
            times = [
                page.evaluate(TRANSLATE, [text, method]) for _ in range(rounds + 1) for text in SENTENCES
            ]
            measured["ms"][f"{method}, {slowdown} ×"] = times[len(SENTENCES) :]
    return measured


def megabytes(devtools: CDPSession) -> float:
    """Return the memory of the page's objects and arrays, in MB, after garbage collection."""
    devtools.send("HeapProfiler.collectGarbage")
    usage = devtools.send("Runtime.getHeapUsage")
    return sum(usage.get(part, 0) for part in ("usedSize", "backingStorageSize")) / 1e6


def main() -> None:
    """Measure, write the result, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds over the four sentences (5)")
    rounds = parser.parse_args().rounds
    describe_code()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        pack.write(Path(folder))
        Path(folder, "index.html").write_text(PAGE, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with serving(Path(folder)) as address:
            measured = {"browser": browser.version, **measure(browser.new_page(), address, rounds)}
        browser.close()
    write_result(result_file("explorer"), seed=0, results=measured)
    for case, times in measured["ms"].items():
        print(f"{case:12} {statistics.median(times):6.0f} ms")
    print(f"load {measured['load_ms']:.0f} ms, {measured['megabytes']:.0f} MB")


if __name__ == "__main__":
    main()
