"""The drawings of the chapters that the explorer's own scripts make: written by a headless browser, and kept.

`python -m builder.build` draws those whose numbers, scripts, or styles have changed. Without a browser, the
kept one stays, and a stale one is named. A chapter shows what is kept (`book/explorer/figure.py`), and at its
head the map, the explorer's picture in small.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from annotated_transformer.book.explorer import first_frame, kept
from annotated_transformer.plotting.figures import FACES
from builder.chapters import ROOT
from builder.explorer import bundle
from builder.explorer.pack import join_scripts

STATIC = bundle.HERE.parent / "site" / "static"
MAP = STATIC.parent / "front" / "map.svg"
POSTER = MAP.with_name("poster.svg"), ROOT / "_build" / "poster.pdf"
WIDTHS = {"wide": 672, "narrow": 344}  # of a chapter's column, and of a phone's
COLORED = re.compile(r"(?<![\w-])(fill|stroke|background|color): ([^;}]+);")
VARIABLE = re.compile(r"(--at-[\w-]+): (#[0-9a-f]{6});")
TAG = re.compile(r"<[^>]*>")
DECIMALS = re.compile(r"-?\d+\.\d{3,}")
PLACE = re.compile(r'<div class="at-drawn">.*?</div>', re.DOTALL)
OWN = """
@property --background { syntax: "*"; inherits: false; }
* { box-sizing: border-box; }
body, .at-x { margin: 0; }
.at-x-upright .at-x-top-name { writing-mode: vertical-rl; text-align: end; }
.at-x-upright .at-x-top-name { padding: 6px 0; line-height: var(--cell); }
.at-x-still .at-x-row > .at-x-side { padding: 0 0.3rem; border: 0; background: none; }
.at-x-still .at-x-grid { width: auto; max-height: none; overflow: visible; border: 0; }
.at-x-still .at-x-row-names { background: none; }
.at-hidden { display: none; }
.at-key { color: var(--at-key-text); font-weight: 600; }
.at-query { color: var(--at-query-text); font-weight: 600; }
"""


@cache
def theme() -> str:
    """Return the variables of the light theme, as CSS."""
    sheets = [(STATIC / name).read_text(encoding="utf-8") for name in ("book.css", "figures.css")]
    starts = [sheet.index(":root,") for sheet in sheets]
    rules = [sheet[start : sheet.index("}", start) + 1] for sheet, start in zip(sheets, starts, strict=True)]
    return "\n".join([*rules, ":root { --pst-font-family-heading: 'Source Sans 3'; }"])


@cache
def parts(entry: str) -> tuple[str, str]:
    """Return style and script of the page in which a drawing is made; each color is there twice.

    `--fill` and the others are what `fill` has in the style sheet, with the values of variables.
    """
    sheets = [bundle.HERE / "ui" / "explorer.css", (bundle.HERE / "ui" / entry).with_suffix(".css")]
    sheet = "".join(path.read_text(encoding="utf-8") for path in sheets if path.is_file())
    book = bundle.book_data({}, [])
    data = {name: book[name] for name in ("shape", "full", "least")}
    data["kinds"] = {kind: {"title": entry["title"]} for kind, entry in book["kinds"].items()}
    script = f"const BOOK = {json.dumps(data)};\n{join_scripts(bundle.HERE / 'ui' / entry)}"
    return theme() + COLORED.sub(r"\g<0> --\1: \2;", sheet + OWN), script


@cache
def made_with(entry: str = "still.js", numbers: str = "") -> str:
    """Return a digest of the scripts and styles that a drawing is made with, and of these numbers."""
    return hashlib.sha256("".join([*parts(entry), numbers]).encode()).hexdigest()[:16]


def refresh(cells: Iterable[NotebookNode], *, redraw: bool) -> Iterator[str]:
    """Put the kept drawings into the outputs of cells, and yield the numbers of those that stay stale."""
    for cell in cells:
        for output in cell.get("outputs", []):
            html = output.get("data", {}).get("text/html", "")
            if place := PLACE.search(html):
                number = output.metadata.figure.number
                request = output.metadata.pop("drawing", None)  # what the cell has just computed
                if is_stale(number, request) and not (redraw and draw_still(number, request)):
                    yield number
                output.data["text/html"] = html.replace(place[0], kept.kept_picture(number, request))


def is_stale(number: str, request: Any = None) -> bool:
    """Return whether a figure must be drawn: for the first time, by other scripts, or from these numbers."""
    before = kept.committed(number)
    if not before or before["scripts"] != made_with():
        return True
    return request is not None and not kept.look_alike(before["request"], request)


def draw_still(number: str, request: Any = None) -> bool:
    """Draw a figure, by default from the kept numbers; return False if there is no browser."""
    request = json.loads(json.dumps(request)) if request else kept.committed(number).get("request")
    drawings = drawn(request, WIDTHS.values()) if request else []
    if not drawings:
        return False
    made = {"scripts": made_with(), "request": request, **dict(zip(WIDTHS, drawings, strict=True))}
    kept.DRAWN.mkdir(exist_ok=True)
    keep_made(kept.DRAWN / f"{number}.json", made)
    print(f"drew figure {number}")
    return True


def keep_made(file: Path, made: Mapping[str, Any]) -> None:
    """Write what a drawing was made of as JSON, an entry a line."""
    lines = [f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in made.items()]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def refresh_map(*, redraw: bool) -> bool:
    """Draw the map if its scripts or numbers have changed; return whether it stays stale."""
    numbers = first_frame.FILE.read_text(encoding="utf-8")
    mark = f"<!-- {made_with('map.js', numbers)} -->\n"
    if MAP.is_file() and MAP.read_text(encoding="utf-8").endswith(mark):
        return False
    if not (redraw and (drawings := drawn(json.loads(numbers), [WIDTHS["wide"]], "map.js"))):
        return True
    MAP.write_text(f"{drawings[0]}\n{mark}", encoding="utf-8")
    print("drew the map at the head of the chapters")
    return False


def drawn(
    request: Any, widths: Collection[int], entry: str = "still.js", before: Iterable[str] = ()
) -> list[str]:
    """Return a drawing in pages of these widths, or nothing if there is no browser.

    Other people's scripts may run `before` ours.
    """
    try:
        from playwright.sync_api import sync_playwright

        from builder.figures import faces
        from tests.browser import OPTIONS, find
    except ImportError:
        return []
    if not find():
        return []
    style, script = parts(entry)
    fonts = "".join(face for _, face in faces("x") if "Source Sans" in face)
    page = f"<!doctype html><style>{style}{fonts}</style><body><script>{{\n{script}}}</script>"
    drawings = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), args=OPTIONS)
        for width in widths:
            tab = browser.new_page(viewport={"width": width, "height": 900})
            tab.set_content(page)
            for script in before:
                tab.add_script_tag(content=script)
            tab.evaluate("Promise.all([...document.fonts].map(face => face.load())).then(() => 0)")
            drawings.append(themed(tab.evaluate("request => drawStill(request)", request)))
        browser.close()
    return drawings


def themed(drawing: str) -> str:
    """Return a drawing as `book.drawing` writes it: its colors are the theme's, its letters the book's."""
    for variable, color in VARIABLE.findall(theme()):
        drawing = drawing.replace(color, f"var({variable}, {color})")
    drawing = TAG.sub(lambda tag: DECIMALS.sub(_two_decimals, tag[0]), drawing)
    (width,) = re.findall(r'^<svg width="(\d+)"', drawing)
    look = f"background:var(--at-paper, #fefefe);width:min(100%, {width}px);height:auto"
    (letters, *_) = FACES.values()
    root = f'<svg style="{look}" xmlns="http://www.w3.org/2000/svg" font-family="{letters}" '
    return root + drawing.removeprefix("<svg ")


def _two_decimals(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
