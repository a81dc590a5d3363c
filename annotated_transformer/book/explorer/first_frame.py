"""The explorer's first frame, shown before a model is loaded: one translation, computed in Python.

`python -m annotated_transformer.book.explorer.first_frame` writes `first_frame.json`; a test recomputes it.
The page shows it as HTML, without a script and in print. With a script, `ui/explorer.js` starts from it.
"""

import base64
import json
import math
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.book.explorer.frame import model_frame

STEP = 5  # "morgen"
FILE = Path(__file__).with_name("first_frame.json")
FULL = 2.0  # numbers of this size have full color in the picture, and larger ones, too
SUBLAYERS = (  # whose outputs the picture shows, under the engine's names
    "self_attention.output",
    "add_norm_1",
    "cross_attention.output",
    "add_norm_2",
    "feed_forward.activation",
    "feed_forward.contract",
    "add_norm_3",
)


def first_frame() -> dict[str, Any]:
    """Return a greedy translation with the weights and the likeliest tokens of each step, rounded.

    `attention` is the cross-attention of the last decoder layer, averaged over its heads, and `selfAttention`
    its self-attention. Probabilities are rounded once, to the tenths of a percent that are shown.
    """
    frame = model_frame()
    last = frame.layers - 1
    strips = [f"decoder.layers.{last}.{name}" for name in SUBLAYERS]
    strips += [f"decoder.layers.{i}.add_norm_3" for i in range(last)] + [f"encoder.layers.{last}.add_norm_2"]
    strips += ["decoder.embedding", "decoder.positions", "decoder.embedded"]
    chosen = [math.log(likely[0][2]) for likely in frame.likeliest]
    return {
        "direction": frame.direction,
        "sentence": frame.sentence,
        "text": frame.text,
        "step": STEP,
        "layer": last,
        "source": {"tokens": frame.source},
        "target": {"ids": frame.ids, "tokens": frame.target},
        "logProb": round(sum(chosen), 2),
        "logProbs": [round(log, 4) for log in chosen],
        "attention": for_json(frame.weights("cross", last).tolist()),
        "selfAttention": for_json(frame.weights("decoder", last).tolist()),
        "top": [top(likely) for likely in frame.likeliest],
        "strips": {name: packed(frame.tensors[name]) for name in strips},
    }


def top(likely: list[tuple[int, str, float]]) -> list[dict[str, Any]]:
    """Return the likeliest tokens of a step as the scripts have them."""
    return [{"id": i, "token": token, "probability": round(share, 3)} for i, token, share in likely]


def for_json(values: Any) -> Any:
    """Return numbers, in lists of any depth, as JSON keeps them: what a mask hides is null."""
    if isinstance(values, list):
        return [for_json(each) for each in values]
    return round(values, 4) if math.isfinite(values) else None


def packed(rows: Float[Tensor, "tokens features"]) -> str:
    """Return numbers as signed bytes in base64, of which 127 is full color."""
    levels = (127 * (rows / FULL).clamp(-1, 1)).round().to(torch.int8)
    return base64.b64encode(levels.numpy().tobytes()).decode()


def write_first_frame(file: Path = FILE) -> None:
    """Write the first frame as JSON, one entry per line."""
    frame = first_frame().items()
    lines = [f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in frame]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    write_first_frame()
