"""A part of the explorer as a figure of a chapter: its drawing, which the page can make interactive.

A headless browser has drawn it with the explorer's own scripts (`builder/explorer/still.py`), wide and
narrow, from the numbers that the cell computes. The committed files keep these numbers: where a reader's
differ visibly, such as after an edited formula, the figure says so.
"""

import json
from html import escape
from typing import Any

from annotated_transformer.book.drawing.figures import numbered
from annotated_transformer.book.explorer.first_frame import STEP, for_json, packed, top
from annotated_transformer.book.explorer.frame import DIRECTION, MODULES, SENTENCE, Frame, model_frame
from annotated_transformer.book.explorer.kept import kept_picture
from annotated_transformer.book.output import CellOutput
from annotated_transformer.inspection.heads import Kind

VIEWS: dict[str, Kind] = {"encoder": "encoder", "cross-attention": "cross", "decoder": "decoder"}
# The parts of the picture: their stops (ui/stops.js), and the strips that they show or begin with.
WAY: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
    "embedding": ((0,), ("decoder.embedding",)),
    "positions": ((1,), ("decoder.embedding", "decoder.positions", "decoder.embedded")),
    "self-attention": ((2, 3), ("input", ".self_attention.output", ".add_norm_1")),
    "cross-attention": ((4,), (".add_norm_1", ".cross_attention.output", ".add_norm_2", "memory")),
    "feed-forward": (
        (5,),
        (".add_norm_2", ".feed_forward.activation", ".feed_forward.contract", ".add_norm_3"),
    ),
    "softmax": ((6,), ("output",)),
}


def show_explorer(
    number: str,
    *,
    view: str = "cross-attention",
    sentence: str = SENTENCE,
    direction: str = DIRECTION,
    step: int = 0,
    layer: int | None = None,
    head: int | None = None,
    **values: object,
) -> CellOutput:
    """Show what a shipped model reads while it translates `sentence`; in the book, a button runs the model.

    `view` is "encoder", "cross-attention" or "decoder". `step` is the index of the highlighted token: of the
    source in the view "encoder", of the translation in the others. `layer` and `head` count from
    0, too; unless given, the weights are those of the last layer, averaged over its heads. The figure's words
    have places for the `values`; without any, for the `sentence`, the highlighted `word`, and the word that
    it reads `most`.

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
    said = values or {
        "sentence": sentence,
        "word": queries[step],
        "most": keys[int(weights[step].argmax())],
    }
    name = "selfAttention" if view == "decoder" else "attention"
    return _show(number, frame, "curves", options, {name: for_json(weights.tolist())}, said)


def show_heat(
    number: str,
    tensor: str,
    *,
    head: int = 0,
    step: int = 0,
    sentence: str = SENTENCE,
    direction: str = DIRECTION,
    **values: object,
) -> CellOutput:
    """Show the scores or weights of a head as a map of numbers.

    `tensor` is a name such as "decoder.layers.0.self_attention.scores". The number that the query of `step`
    has for the key that it reads most is framed. The figure's words have places for the `values`; without
    any, for `sentence`, `word`, and `most`, as in `show_explorer`.

    Raises:
        ValueError: There is no such tensor, head, or token.
    """
    frame = model_frame(sentence, direction)
    maps = [name for name in frame.tensors if name.endswith((".scores", ".weights"))]
    if tensor not in maps:
        raise ValueError(f"{tensor!r} is not a map of attention; choose from {', '.join(maps)}")
    kind = next(
        kind for kind, (stack, module) in MODULES.items() if tensor.startswith(stack) and module in tensor
    )
    layer = int(tensor.split(".")[2])
    _refuse(frame, kind, layer, head, step)
    rows = frame.tensors[tensor][head]
    keys, queries = frame.sides(kind)
    most = int(rows[step].argmax())
    place = "word" if kind == "encoder" else "step"
    options = {
        "view": kind,
        place: step,
        "layer": layer,
        "head": head,
        "tensor": tensor,
        "at": [head, step, most],
    }
    said = values or {"sentence": sentence, "word": queries[step], "most": keys[most]}
    return _show(number, frame, "heat", options, {"tensor": for_json(rows.tolist())}, said)


def show_way(
    number: str,
    first: str | None = None,
    last: str | None = None,
    *,
    step: int = STEP,
    layer: int | None = None,
    sentence: str = SENTENCE,
    direction: str = DIRECTION,
    **values: object,
) -> CellOutput:
    """Show the vectors of the token that is made at `step` on its way through the decoder, as strips.

    The way goes from the part `first` to the part `last`, by default the same; without both, through all:
    "embedding", "positions", "self-attention", "cross-attention", "feed-forward", "softmax". The figure's
    words have places for the `values`; without any, for the `sentence` and the `word` that is made.

    Raises:
        ValueError: There is no such part, token, or layer.
    """
    frame = model_frame(sentence, direction)
    layer = frame.layers - 1 if layer is None else layer
    _refuse(frame, "cross", layer, None, step)
    first, last = (first, last or first) if first else (next(iter(WAY)), [*WAY][-1])
    if not {first, last} <= WAY.keys() or (names := [*WAY]).index(first) > names.index(last):
        raise ValueError(
            f"{first!r} to {last!r} is no way through the decoder, whose parts are {', '.join(WAY)}"
        )
    chosen = names[names.index(first) : names.index(last) + 1]
    parts = [WAY[name] for name in chosen]
    own = f"decoder.layers.{layer}"
    named = {
        "input": f"decoder.layers.{layer - 1}.add_norm_3" if layer else "decoder.embedded",
        "memory": f"encoder.layers.{frame.layers - 1}.add_norm_2",
        "output": f"decoder.layers.{frame.layers - 1}.add_norm_3",
    }
    tensors = [named.get(name, own + name if name[0] == "." else name) for part in parts for name in part[1]]
    if {"positions", "self-attention", "softmax"} & {*chosen}:  # what leaves the other layers
        tensors += [f"decoder.layers.{other}.add_norm_3" for other in range(frame.layers) if other != layer]
    numbers = {
        "stops": [stop for part in parts for stop in part[0]],
        "strips": {name: packed(frame.tensors[name]) for name in tensors},
        "attention": for_json(frame.weights("cross", layer).tolist()),
        "selfAttention": for_json(frame.weights("decoder", layer).tolist()),
        "top": [top(each) if at == step else [] for at, each in enumerate(frame.likeliest)],
    }
    said = values or {"sentence": sentence, "word": frame.sides("cross")[1][step]}
    return _show(number, frame, "way", {"step": step, "layer": layer}, numbers, said)


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
        kept_picture(number, request),
        [("", said)],
        kind=" at-x-figure",
        mark=f' data-explorer="{escape(json.dumps({"part": shown, **state}))}"',
        kept={"drawing": request},
    )
