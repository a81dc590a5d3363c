"""The explorer's first frame, shown before a model is loaded: one translation, computed in Python.

`python -m annotated_transformer.book.explorer.first_frame` writes `first_frame.json`; a test recomputes it.
The page shows it as HTML, without a script and in print. With a script, `ui/explorer.js` starts from it.
"""

import base64
import json
import math
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.book.explorer.int8 import explorer_translator
from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.inspection.heads import attention_maps
from annotated_transformer.inspection.observation import observe
from annotated_transformer.model.inference import evaluating, first_tokens, hooking, suppress_tokens
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch

DIRECTION = "en-de"
SENTENCE = "I hope that you can come tomorrow."  # as on the cover
STEP = 5  # "morgen"
FILE = Path(__file__).with_name("first_frame.json")
LIKELIEST = 5
FULL = 2.0  # numbers of this size have full color in the picture, and larger ones, too (ui/strips.js)
SUBLAYERS = (  # whose outputs the picture shows, under the engine's names
    "self_attention.output",
    "add_norm_1",
    "cross_attention.output",
    "add_norm_2",
    "feed_forward.activation",
    "feed_forward.contract",
    "add_norm_3",
)
LANGUAGES = {"en": "English", "de": "German"}  # as in ui/words.js
SPECIAL = {"<eos>": "end", "<bos>": "start"}


def continues(token: str, place: int) -> bool:
    """Return whether a token continues the word before it (ui/words.js)."""
    return place > 0 and (token[0].isalpha() or token[0].isnumeric())


def plain(token: str, place: int) -> str:
    """Return a token as readers see it: a plus marks one that continues the word before it (ui/words.js)."""
    return SPECIAL.get(token) or (f"+{token}" if continues(token, place) else token.strip() or "space")


def first_frame() -> dict[str, Any]:
    """Return a greedy translation with the weights and the likeliest tokens of each step, rounded.

    `attention` is the cross-attention of the last decoder layer, averaged over its heads, and `selfAttention`
    its self-attention. Probabilities are rounded once, to the tenths of a percent that are shown.
    """
    translator = explorer_translator(DIRECTION)
    ids, shares, tokens = likeliest_tokens(translator, SENTENCE)
    src = translator.encode([SENTENCE]).ids[0]
    with torch.no_grad():
        observation = observe(translator.model, torch.tensor([src]), torch.tensor([ids]))
    attention = observation.attention[0, -1].mean(dim=0)
    read = [translator.model.config.bos_id, *ids[:-1]]
    maps = attention_maps(translator.model, Batch([0], torch.tensor([src]), torch.tensor([[*read, ids[-1]]])))
    tokenizer = translator.tokenizer
    return {
        "direction": DIRECTION,
        "sentence": SENTENCE,
        "text": tokenizer.decode([ids])[0],
        "step": STEP,
        "layer": translator.model.config.num_layers - 1,
        "source": {"tokens": tokenizer.tokens(src)},
        "target": {"ids": ids, "tokens": tokenizer.tokens(ids)},
        "logProb": round(float(observation.log_probs[0]), 2),
        "logProbs": [round(math.log(row[0]), 4) for row in shares],
        "attention": _rounded(attention),
        "selfAttention": _rounded(maps["decoder"][0, -1].mean(dim=0)),
        "top": [
            [
                {"id": token, "token": name, "probability": round(share, 3)}
                for token, name, share in zip(row, tokenizer.tokens(row), own, strict=True)
            ]
            for row, own in zip(tokens, shares, strict=True)
        ],
        "strips": {name: packed(rows) for name, rows in strips(translator.model, src, read).items()},
    }


def _rounded(weights: Float[Tensor, "queries keys"]) -> list[list[float]]:
    return [[round(float(weight), 4) for weight in row] for row in weights]


def strips(
    model: Transformer, src: list[int], read: list[int]
) -> dict[str, Float[Tensor, "tokens features"]]:
    """Return the vectors that the picture shows: those of the last decoder layer, what leaves the others."""
    last = model.config.num_layers - 1
    layer = f"decoder.layers.{last}"
    names = [f"{layer}.{name}" for name in SUBLAYERS]
    names += [f"decoder.layers.{i}.add_norm_3" for i in range(last)] + [f"encoder.layers.{last}.add_norm_2"]
    seen: dict[str, Tensor] = {}
    with evaluating(model), ExitStack() as hooks:
        for name in names:
            module = model.get_submodule(name.removesuffix(".output"))
            hooks.enter_context(hooking(module.register_forward_hook, _keeping(seen, name)))
        ids = torch.tensor([read])
        model(torch.tensor([src]), ids)
        embedding, embedded = model.embedding(ids), model.embed(ids)
    seen |= {"embedding": embedding, "positions": embedded - embedding, "embedded": embedded}
    return {name if "." in name else f"decoder.{name}": rows[0] for name, rows in seen.items()}


def _keeping(seen: dict[str, Tensor], name: str) -> Callable[[object, object, Tensor], None]:
    def keep(module: object, args: object, output: Tensor) -> None:
        seen[name] = output

    return keep


def packed(rows: Float[Tensor, "tokens features"]) -> str:
    """Return numbers as signed bytes in base64, of which 127 is full color."""
    levels = (127 * (rows / FULL).clamp(-1, 1)).round().to(torch.int8)
    return base64.b64encode(levels.numpy().tobytes()).decode()


def likeliest_tokens(
    translator: Translator, sentence: str
) -> tuple[list[int], list[list[float]], list[list[int]]]:
    """Return the greedy translation's ids, and for each step the largest probabilities and their ids.

    Raises:
        ValueError: The sentence is empty, too long or not valid Unicode.
    """
    model = translator.model
    ids = translator.encode([sentence]).ids[0]
    if not ids:
        translator.translate([sentence])  # raises, with the reason
    src = torch.tensor([ids])
    tgt = greedy_search(model, src)
    read = torch.cat([first_tokens(src, model.config)[:, None], tgt[:, :-1]], dim=1)
    with evaluating(model), torch.no_grad():
        logits = suppress_tokens(model(src, read)[0], model.config)
    top = logits.softmax(dim=-1).topk(LIKELIEST)
    return tgt[0].tolist(), top.values.tolist(), top.indices.tolist()


def write_first_frame(file: Path = FILE) -> None:
    """Write the first frame as JSON, one entry per line."""
    frame = first_frame().items()
    lines = [f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in frame]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    write_first_frame()
