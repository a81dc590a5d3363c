"""The poster: the whole Transformer on a sheet of A3, with the shipped model's numbers for one sentence.

`python -m builder.explorer.poster` writes an SVG, which is committed with its numbers and a digest of what it
was drawn with, and a PDF. A headless browser draws it by `ui/poster.js`, as `still.py` says.
"""

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import torch

from annotated_transformer.book.explorer.first_frame import for_json, packed
from annotated_transformer.book.explorer.frame import model_frame
from annotated_transformer.book.explorer.int8 import explorer_translator
from annotated_transformer.book.explorer.kept import look_alike
from annotated_transformer.config import BASE, TransformerConfig
from builder.chapters import ROOT
from builder.explorer import still
from builder.figures import faces, plain, with_faces
from builder.site.rendering.vendored import vendored

SVG = still.MAP.with_name("poster.svg")
PDF = ROOT / "_build" / "poster.pdf"
STEP, HEAD = 7, 0  # “kannst”, for which this head of the last cross-attention reads several words
STRIPS = re.compile(r"\w+\.(embedding|positions|embedded)|.*(add_norm_\d|feed_forward\.activation)")
SIZES: dict[str, Callable[[TransformerConfig], int]] = {
    "N": lambda config: config.num_layers,
    r"d_{\mathrm{model}}": lambda config: config.d_model,
    "h": lambda config: config.num_heads,
    "d_k": lambda config: config.d_model // config.num_heads,
    r"d_{\mathrm{ff}}": lambda config: config.d_ff,
    "|E|": lambda config: config.vocab_size,
}
NOTE = "Numbers of a small model that comes with The Annotated Transformer, with weights of 8 bits. Design: Attention Is All You Need (2017)."
A3 = {"width": "297mm", "height": "420mm"}
LOADER = 'var MathJax = {_: {components: {package: {}, loader: {}, startup: {}}}, config: {}, version: "3.2.2"};'
MATHJAX = ("core.js", "adaptors/liteDOM.js", "input/tex-base.js", "input/tex/extensions/ams.js", "output/svg.js", "output/svg/fonts/tex.js")
SIGNED = re.compile(r"<!-- (\w+) (.*) -->\n$", re.DOTALL)


def numbers() -> dict[str, Any]:
    """Return what the poster shows, as JSON."""
    frame = model_frame()
    translator = explorer_translator(frame.direction)
    config, tensors = translator.model.config, frame.tensors
    ids = {"source": translator.encode([frame.sentence]).ids[0], "read": [config.bos_id, *frame.ids[:-1]]}
    last = {name: one for name, one in tensors.items() if f"layers.{frame.layers - 1}" in name}
    cross = {kind: tensors[f"decoder.layers.{frame.layers - 1}.cross_attention.{kind}"][HEAD] for kind in
             ("query", "key", "value", "scores", "weights", "heads")}
    return {
        "direction": frame.direction,
        "sentence": frame.sentence,
        "text": frame.text,
        "step": STEP,
        "layer": frame.layers - 1,
        "source": {"tokens": frame.source, "ids": ids["source"]},
        "read": {"tokens": frame.read, "ids": ids["read"]},
        "target": {"tokens": frame.target, "ids": frame.ids},
        "chosen": [round(likely[0][2], 4) for likely in frame.likeliest],
        "top": [
            {"token": token, "logit": round(tensors["logits"][STEP, i].item(), 4), "probability": round(share, 4)}
            for i, token, share in frame.likeliest[STEP]
        ],
        "head": HEAD,
        "closer": {kind: for_json(rows.tolist()) for kind, rows in cross.items()},
        "weights": {
            name.removesuffix(".weights"): for_json(
                one.masked_fill(last[name.replace("weights", "scores")].isinf(), torch.inf).tolist()
            )
            for name, one in last.items() if name.endswith("weights")
        },
        "shapes": {name: [*one.shape] for name, one in tensors.items()},
        "strips": {name: packed(one) for name, one in tensors.items() if STRIPS.fullmatch(name)},
        "config": {name: getattr(config, name) for name in ("d_model", "d_ff", "vocab_size")},
        "sizes": {tex: [size(one) for one in (config, BASE)] for tex, size in SIZES.items()},
        "note": NOTE,
    }


def is_stale(request: dict[str, Any] | None = None) -> bool:
    """Return whether the poster must be drawn: for the first time, by other scripts, or from these numbers."""
    found = SIGNED.search(SVG.read_text(encoding="utf-8")) if SVG.is_file() else None
    if not found or found[1] != still.made_with("poster.js"):
        return True
    return request is not None and not look_alike(json.loads(found[2]), json.loads(json.dumps(request)))


def draw() -> bool:
    """Draw the poster and write it as SVG; return False if there is no browser."""
    request = numbers()
    files = vendored("mathjax") | vendored("mathjax-svg")
    mathjax = [LOADER, *(files[name].read_text(encoding="utf-8") for name in MATHJAX)]
    drawings = still.drawn(request, [842], "poster.js", mathjax)
    for drawing in drawings:
        svg = with_faces(plain(drawing), faces(""))
        svg = re.sub(r' width="\d+" height="\d+"', ' width="297mm" height="420mm"', svg, count=1)
        SVG.write_text(f"{svg}\n<!-- {still.made_with('poster.js')} {json.dumps(request)} -->\n", encoding="utf-8")
    return bool(drawings)


if __name__ == "__main__":
    draw()
