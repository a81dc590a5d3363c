"""A part of the explorer as a figure of a chapter: its drawing, which the page can make interactive.

A headless browser has drawn it with the explorer's own scripts (`builder/explorer/still.py`), wide and
narrow, from the numbers that the cell computes. The committed files keep these numbers: where a reader's
differ visibly, such as after an edited formula, the figure says so.
"""

import json
import math
from html import escape
from pathlib import Path
from typing import Any

from annotated_transformer.book.drawing.figures import image, numbered, placeholder_alt
from annotated_transformer.book.explorer.first_frame import DIRECTION, SENTENCE
from annotated_transformer.book.explorer.frame import Frame, model_frame
from annotated_transformer.book.output import CellOutput
from annotated_transformer.inspection.heads import Kind

DRAWN = Path(__file__).with_name("drawn")
FORMS = ("wide", "narrow")
VIEWS: dict[str, Kind] = {"encoder": "encoder", "cross-attention": "cross", "decoder": "decoder"}
VISIBLE = 0.01  # numbers that differ less are drawn as one
DIFFERS = "The numbers of this run differ from those in the picture, which is the book’s."


def show_explorer(
    number: str,
    *,
    view: str = "cross-attention",
    sentence: str = SENTENCE,
    direction: str = DIRECTION,
    step: int = 0,
    layer: int | None = None,
    head: int | None = None,
) -> CellOutput:
    """Show what a shipped model reads while it translates `sentence`; in the book, a button runs the model.

    `view` is "encoder", "cross-attention" or "decoder". `step` is the index of the highlighted token: of the
    source in the view "encoder", of the translation in the others. `layer` and `head` count from
    0, too; unless given, the weights are those of the last layer, averaged over its heads. The figure's words
    have places for the `sentence`, the highlighted `word`, and the word that it reads `most`.

    Raises:
        ValueError: There is no such view, token, layer or head.
    """
    if view not in VIEWS:
        raise ValueError(f"view={view!r} is not a view of the explorer; choose from {', '.join(VIEWS)}")
    frame, kind = model_frame(sentence, direction), VIEWS[view]
    layer = frame.layers - 1 if layer is None else layer
    _refuse(frame, kind, layer, head, step)
    weights = frame.weights(kind, layer, head)
    keys, queries = frame.sides(kind)
    place = "word" if view == "encoder" else "step"
    options = {"view": kind, place: step, "layer": layer, "head": head}
    said = {"sentence": sentence, "word": queries[step], "most": keys[int(weights[step].argmax())]}
    name = "selfAttention" if view == "decoder" else "attention"
    return _show(number, frame, "curves", options, {name: _rounded(weights.tolist())}, said)


def _refuse(frame: Frame, kind: Kind, layer: int, head: int | None, step: int) -> None:
    heads = len(frame.tensors["encoder.layers.0.self_attention.weights"])
    if layer not in range(frame.layers) or head not in (None, *range(heads)):
        raise ValueError(
            f"layer={layer}, head={head} is not a place in {frame.layers} layers of {heads} "
            "heads; count both from 0"
        )
    _, queries = frame.sides(kind)
    if step not in range(len(queries)):
        raise ValueError(f"step={step} is not a token of {queries}; choose one from 0 to {len(queries) - 1}")


def _show(
    number: str,
    frame: Frame,
    shown: str,
    options: dict[str, Any],
    numbers: dict[str, Any],
    said: dict[str, object],
) -> CellOutput:
    """Return the figure, with what its drawing is made from beside it, for the builder."""
    state = {"direction": frame.direction, "text": frame.sentence, **options}
    source, target = {"tokens": frame.source}, {"tokens": frame.target, "ids": frame.ids}
    result = {"source": source, "target": target, **numbers}
    request = {"shown": shown, "state": state, "result": result}
    return numbered(
        number,
        picture(number, request),
        [("", said)],
        kind=" at-x-figure",
        mark=f' data-explorer="{escape(json.dumps(state))}"',
        kept={"drawing": request},
    )


def picture(number: str, request: dict[str, Any] | None = None) -> str:
    """Return the committed drawing of a figure, and a note if it is not drawn from these numbers."""
    drawn = committed(number)
    images = "".join(
        f'<span class="at-{form}"{" style=display:none" * (form == "narrow")}>'
        f"{image(drawn[form], placeholder_alt(number))}</span>"
        for form in FORMS
        if drawn
    )
    note = DIFFERS if drawn else "This picture has not been drawn yet; on the web page, run the model."
    told = drawn and (request is None or alike(drawn["request"], request))
    return f'<div class="at-drawn">{images}{"" if told else f"<p>{note}</p>"}</div>'


def committed(number: str) -> dict[str, Any]:
    """Return what is kept of the drawing of a figure: nothing if it has not been drawn."""
    file = DRAWN / f"{number}.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def alike(one: Any, other: Any) -> bool:
    """Return whether two drawings would look the same."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    numbers = isinstance(one, float) and isinstance(other, float)
    return math.isclose(one, other, rel_tol=VISIBLE, abs_tol=VISIBLE) if numbers else bool(one == other)


def _rounded(values: Any) -> Any:
    """Return numbers, in lists of any depth, as JSON keeps them: what a mask hides is null."""
    if isinstance(values, list):
        return [_rounded(each) for each in values]
    return round(values, 4) if math.isfinite(values) else None
