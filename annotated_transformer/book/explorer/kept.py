"""The committed drawings of the explorer, and whether a run has the numbers that they were drawn from."""

import base64
import json
import math
from pathlib import Path
from typing import Any

from annotated_transformer.book.drawing.figures import image, placeholder_alt

DRAWN = Path(__file__).with_name("drawn")
FORMS = ("wide", "narrow")
VISIBLE = 0.01  # numbers that differ less are drawn as one
LEVELS = 2  # the same for those of strips, of which 127 has full color
DIFFERS = "The numbers of this run differ from those in the picture, which is the book's."
NONE = "This picture has not been drawn yet."


def kept_picture(number: str, request: dict[str, Any] | None = None) -> str:
    """Return the committed drawing of a figure, and a note if it is not drawn from these numbers."""
    drawn = committed(number)
    images = "".join(
        f'<span class="at-{form}"{" style=display:none" * (form == "narrow")}>'
        f"{image(drawn[form], placeholder_alt(number))}</span>"
        for form in FORMS
        if drawn
    )
    same = drawn and (request is None or look_alike(drawn["request"], request))
    note = "" if same else f"<p>{DIFFERS if drawn else NONE}</p>"
    return f'<div class="at-drawn">{images}{note}</div>'


def committed(number: str) -> dict[str, Any]:
    """Return what is kept of the drawing of a figure: nothing if it has not been drawn."""
    file = DRAWN / f"{number}.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def look_alike(one: Any, other: Any) -> bool:
    """Return whether two drawings would look the same."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            (_alike_strips if name == "strips" else look_alike)(one[name], other[name]) for name in one
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(look_alike, one, other))
    numbers = isinstance(one, float) and isinstance(other, float)
    return math.isclose(one, other, rel_tol=VISIBLE, abs_tol=VISIBLE) if numbers else bool(one == other)


def _alike_strips(one: dict[str, str], other: dict[str, str]) -> bool:
    """Return whether two sets of strips, as `packed` writes them, look the same."""
    if one.keys() != other.keys():
        return False
    pairs = [[memoryview(base64.b64decode(rows[name])).cast("b") for rows in (one, other)] for name in one]
    return all(
        len(first) == len(second) and all(abs(a - b) <= LEVELS for a, b in zip(first, second, strict=True))
        for first, second in pairs
    )
