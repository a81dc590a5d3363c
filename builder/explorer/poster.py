"""The poster: the whole Transformer on a sheet of A3, with a shipped model's numbers for one sentence.

`make poster` draws it by `ui/poster.js` in a headless browser: as SVG, which is committed with its numbers
and with a digest of its scripts, and as PDF.
"""

import json
import re
import sys
from string import Template
from typing import Any

import torch

from annotated_transformer.book.explorer.first_frame import for_json, packed
from annotated_transformer.book.explorer.frame import model_frame
from annotated_transformer.book.explorer.int8 import explorer_translator
from annotated_transformer.book.explorer.kept import look_alike
from annotated_transformer.config import BASE
from builder.chapters import ROOT
from builder.explorer import bundle, still
from builder.figures import faces, plain, with_faces
from builder.site.rendering.formulas import LOADER
from builder.site.rendering.vendored import vendored
from tests.browser import OPTIONS, find

SVG, PDF = still.POSTER
NUMBERS = SVG.with_suffix(".json")
ENTRY = "poster.js"
STEP, HEAD = 7, 0  # “kannst”, for which this head of the last cross-attention reads several words
SIZES = ("num_layers", "d_model", "num_heads", "d_k", "d_ff", "vocab_size")
STRIPS = re.compile(r"\w+\.(embedding|positions|embedded)|.*(add_norm_\d|feed_forward\.activation)")
SIZE = ' xmlns:xlink="http://www.w3.org/1999/xlink" width="297mm" height="420mm"'
PAGE = (
    "<!doctype html><style>@page { size: A3; margin: 0; } body { margin: 0; } svg { display: block; }</style>"
)


def numbers() -> dict[str, Any]:
    """Return what the poster shows, as JSON."""
    frame, translator = model_frame(), explorer_translator("en-de")
    config, tensors, layer = translator.model.config, frame.tensors, f"layers.{frame.layers - 1}"
    ours, papers = (
        [getattr(one, name) or one.d_model // one.num_heads for name in SIZES] for one in (config, BASE)
    )
    sizes = dict(zip(SIZES, ours, strict=True))
    formulas = Template((bundle.HERE / "poster_formulas.json").read_text(encoding="utf-8"))
    attention = [
        name.removesuffix(".scores") for name in tensors if layer in name and name.endswith("scores")
    ]
    weights = {
        name: tensors[f"{name}.weights"].masked_fill(tensors[f"{name}.scores"].isinf(), torch.inf)
        for name in attention
    }
    closer = {
        kind: tensors[f"decoder.{layer}.cross_attention.{kind}"][HEAD]
        for kind in ("query", "key", "value", "scores", "weights", "heads")
    }
    request = {
        "direction": frame.direction,
        "sentence": frame.sentence,
        "text": frame.text,
        "step": STEP,
        "layer": frame.layers - 1,
        "head": HEAD,
        "source": {"tokens": frame.source, "ids": translator.encode([frame.sentence]).ids[0]},
        "read": {"tokens": frame.read, "ids": [config.bos_id, *frame.ids[:-1]]},
        "target": {"tokens": frame.target, "ids": frame.ids},
        "chosen": for_json([likely[0][2] for likely in frame.likeliest]),
        "top": [
            {"token": token, "logit": tensors["logits"][STEP, i].item(), "probability": share}
            for i, token, share in frame.likeliest[STEP]
        ],
        "closer": {kind: for_json(one.tolist()) for kind, one in closer.items()},
        "weights": {name: for_json(one.tolist()) for name, one in weights.items()},
        "shapes": {name: one.shape for name, one in tensors.items()},
        "strips": {name: packed(one) for name, one in tensors.items() if STRIPS.fullmatch(name)},
        "config": sizes,
        "sizes": dict(zip(SIZES, zip(ours, papers, strict=True), strict=True)),
        "formulas": json.loads(formulas.substitute(sizes)),
    }
    return dict(json.loads(json.dumps(request)))


def poster_is_stale(request: dict[str, Any]) -> bool:
    """Return whether the poster must be drawn: at first, by other scripts, or from these numbers."""
    kept = json.loads(NUMBERS.read_text(encoding="utf-8")) if SVG.is_file() and NUMBERS.is_file() else {}
    return kept.pop("scripts", "") != still.made_with(ENTRY) or not look_alike(kept, request)


def draw_poster(request: dict[str, Any]) -> str:
    """Return the poster as SVG."""
    mathjax = [path.read_text(encoding="utf-8") for path in vendored("mathjax-svg").values()]
    (drawing,) = still.drawn(request, [842], ENTRY, [LOADER, *mathjax])
    svg = with_faces(plain(drawing), faces(""))
    return re.sub(r' width="\d+" height="\d+"', SIZE, svg, count=1)


def write_poster() -> None:
    """Draw the poster if it is stale, and print it."""
    from playwright.sync_api import sync_playwright

    if not find():
        sys.exit("there is no browser to draw the poster with: run make browser")
    request = numbers()
    if poster_is_stale(request):
        SVG.write_text(f"{draw_poster(request)}\n", encoding="utf-8")
        still.keep_made(NUMBERS, {"scripts": still.made_with(ENTRY), **request})
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find(), args=OPTIONS)
        tab = browser.new_page()
        tab.set_content(PAGE + SVG.read_text(encoding="utf-8"))
        tab.evaluate("document.fonts.ready.then(() => 0)")
        tab.pdf(path=PDF, prefer_css_page_size=True, print_background=True)
        browser.close()
    print(f"The poster: {SVG.relative_to(ROOT)} and {PDF.relative_to(ROOT)}")


if __name__ == "__main__":
    write_poster()
