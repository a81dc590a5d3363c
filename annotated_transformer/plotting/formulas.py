"""Formulas and lines in the labels of an SVG image, as text that flows.

matplotlib gives each letter of a formula its own place, by the widths of its own font, and each of several
lines its left end. In another font, such as the narrower one of the book, the letters would stand apart,
words included, and centered lines would stand too far left.
"""

import functools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html import unescape

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ft2font import LoadFlags
from matplotlib.text import Text

ANCHORS = {"left": "start", "center": "middle", "right": "end"}
LABEL = re.compile(
    r'<g id="label-(?P<anchor>\w+)"|'
    # Of a formula with a rectangle (the line of a fraction or a root), the letters stay where the line is.
    r"<text>(?P<letters>(?:\s*<tspan [^>]*>[^<]*</tspan>)+)\s*</text>(?!\s*<rect)|"
    r'<text style="(?P<style>[^"]*)" transform="translate\((?P<x>\S+) (?P<y>\S+)\)">(?P<line>[^<]*)</text>'
)
FORMULA = re.compile(r"(?<!\d)\$(?=\S)[^$]+(?<=\S)\$(?!\d)")  # not in "$5–$10", nor "5$ or 6$"
LETTER = re.compile(r'<tspan x="(\S+)" y="(\S+)" style="([^"]*)">([^<]*)</tspan>')
FONT = re.compile(r"(?P<size>[\d.]+)px; font-family: '(?P<family>[^']+)'")
RAISED = 0.8  # pixels at most between a letter and its upper index
CLOSE = 0.5  # pixels: letters that are closer to where the one before ends are a word


@dataclass(frozen=True)
class Letters:
    """Letters of one style on one line, which follow each other from `start` to `end`."""

    start: float
    end: float
    y: float
    style: str
    words: str


def keep_words(fig: Figure) -> None:
    """Let matplotlib draw dollar signs as they are in a label without a formula."""
    for label in fig.findobj(Text):
        if "$" in (words := label.get_text()) and not FORMULA.search(words):
            label.set_parse_math(False)


@contextmanager
def marked_labels(fig: Figure) -> Iterator[None]:
    """Let the groups of an SVG image tell how each label is aligned, which `flowing` reads and removes."""
    keep_words(fig)
    labels = [label for label in fig.findobj(Text) if label.get_gid() is None]
    for label in labels:
        along = label.get_rotation() == 0 or label.get_rotation_mode() == "anchor"
        label.set_gid(f"label-{ANCHORS[label.get_horizontalalignment()] if along else 'middle'}")
    try:
        yield
    finally:
        for label in labels:
            label.set_gid(None)


def flowing(image: str) -> str:
    """Return an SVG image of a figure with `marked_labels` in which formulas are text that flows."""
    anchor = "middle"

    def change(label: re.Match[str]) -> str:
        nonlocal anchor
        if label["anchor"]:
            anchor = label["anchor"]
            return "<g"
        if line := label["line"]:
            share = {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
            width = sum(_width(label["style"], letter) for letter in unescape(line))
            place = f'x="{float(label["x"]) + share * width:.2f}" y="{label["y"]}"'
            return f'<text style="{label["style"]}; text-anchor: {anchor}" {place}>{line}</text>'
        return _flow(_pieces(label["letters"]), anchor)

    return LABEL.sub(change, image)


def _flow(pieces: list[Letters], anchor: str) -> str:
    """Return pieces one after the other, moved only as far as they were from the end of the one before."""
    first, last = pieces[0], max(pieces, key=lambda piece: piece.end)
    place = {"start": first.start, "middle": (first.start + last.end) / 2, "end": last.end}[anchor]
    x, y, spans = first.start, 0.0, []
    for piece in pieces:
        across = piece.start - x
        moved = {"dx": min(across, RAISED) if piece.y < y else across, "dy": piece.y - y}
        moves = [f'{name}="{by:.2f}" ' for name, by in moved.items() if abs(by) >= 0.01]
        spans.append(f'<tspan {"".join(moves)}style="{piece.style}">{piece.words}</tspan>')
        x, y = piece.end, piece.y
    return f'<text x="{place:.2f}" style="text-anchor: {anchor}">{"".join(spans)}</text>'


def _pieces(letters: str) -> list[Letters]:
    """Return the letters of a formula, in the order of their places, joined where they follow each other.

    An upper and a lower index of the same letter begin at the same place; the shorter one comes first.
    """
    single = [
        Letters(float(x), float(x) + _width(style, unescape(letter)), float(y), style, letter)
        for x, y, style, letter in LETTER.findall(letters)
    ]
    pieces: list[Letters] = []
    for letter in sorted(single, key=lambda letter: (letter.style, letter.y, letter.start)):
        before = pieces[-1] if pieces else None
        alike = before and (letter.style, letter.y) == (before.style, before.y)
        if before and alike and abs(letter.start - before.end) < CLOSE:
            pieces[-1] = replace(before, end=letter.end, words=before.words + letter.words)
        else:
            pieces.append(letter)
    return sorted(pieces, key=lambda piece: piece.end)


@functools.cache
def _width(style: str, letter: str) -> float:
    """Return how far a letter of this style reaches, in pixels."""
    looks = dict(re.findall(r"font-(style|weight): (\w+)", style))
    font = FONT.search(style)
    assert font is not None, style
    file = get_font(findfont(FontProperties(family=font["family"], **looks)))
    file.set_size(float(font["size"]), 72)
    return file.load_char(ord(letter), flags=LoadFlags.NO_HINTING).linearHoriAdvance / 2**16
