"""The page benchmark counts the bytes sent and measures visible code, formulas, and layout shifts."""

import gzip
import urllib.request
from pathlib import Path

import pytest

from benchmarks.pages import Compressing, measure
from benchmarks.serving import serving

PAGE = """<!doctype html><meta name="viewport" content="width=device-width"><body style="margin:0"><article>
<p style="height:600px;margin:0">Text <span class="math"><mjx-container>x</mjx-container></span></p>
<div class="cell_input" style="height:200px"><pre style="margin:0">shown</pre></div>
<details style="height:200px"><summary>Code</summary>
<div class="cell_input" style="height:900px"></div></details>
</article>{late}"""
LATE = """<script>addEventListener("load", () => setTimeout(() => document.body.prepend(
  Object.assign(document.createElement("div"), {style: "height:500px"})), 500))</script>"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "still.html").write_text(PAGE.format(late=""), "utf-8")
    (tmp_path / "moving.html").write_text(PAGE.format(late=LATE), "utf-8")
    (tmp_path / "noise.png").write_bytes(bytes(range(256)) * 8)
    return tmp_path


def test_law_text_is_sent_compressed_and_every_byte_is_counted(folder):
    Compressing.sent = 0
    with serving(folder, Compressing) as address:
        with urllib.request.urlopen(f"{address}still.html") as answer:
            page = answer.read()
            assert answer.headers["Content-Encoding"] == "gzip"
        with urllib.request.urlopen(f"{address}noise.png") as answer:
            picture = answer.read()
            assert answer.headers["Content-Encoding"] is None
    assert gzip.decompress(page).decode() == PAGE.format(late="")
    assert picture == (folder / "noise.png").read_bytes()
    assert Compressing.sent == len(page) + len(picture)


@pytest.mark.page
def test_law_folded_code_is_not_counted_and_a_late_block_causes_layout_shift(folder, browser):
    with serving(folder, Compressing) as address:
        still, moving = (measure(browser, f"{address}{name}.html", seconds=1) for name in ("still", "moving"))
    assert still["code"] == pytest.approx(0.2)  # 200 of 1,000 px; folded code does not count
    assert still["shift"] == 0 < 0.1 < moving["shift"]
    assert 0 < still["first paint"] <= still["screen"] <= still["formulas"]
    assert still["KB"] == pytest.approx(len(gzip.compress((folder / "still.html").read_bytes())) / 1000)
