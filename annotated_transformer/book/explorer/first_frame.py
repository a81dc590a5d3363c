"""The explorer's first frame, shown before a model is loaded: one translation, computed in Python.

`python -m annotated_transformer.book.explorer.first_frame` writes `first_frame.json`; a test recomputes it.
The page shows it as HTML, without a script and in print. With a script, `ui/explorer.js` starts from it.
"""

import json
import math
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.book.explorer.int8 import explorer_translator
from annotated_transformer.decoding.greedy import greedy_search
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.inspection.observation import observe
from annotated_transformer.model.inference import evaluating, first_tokens, suppress_tokens

DIRECTION = "en-de"
SENTENCE = "I hope that you can come tomorrow."  # as on the cover
STEP = 5  # "morgen"
FILE = Path(__file__).with_name("first_frame.json")
LIKELIEST = 5
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

    `attention` is the cross-attention of the last decoder layer, averaged over its heads. Probabilities are
    rounded once, to the tenths of a percent that are shown.
    """
    translator = explorer_translator(DIRECTION)
    ids, shares, tokens = likeliest_tokens(translator, SENTENCE)
    src = translator.encode([SENTENCE]).ids[0]
    with torch.no_grad():
        observation = observe(translator.model, torch.tensor([src]), torch.tensor([ids]))
    attention = observation.attention[0, -1].mean(dim=0)
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
        "attention": [[round(float(weight), 4) for weight in row] for row in attention],
        "top": [
            [
                {"id": token, "token": name, "probability": round(share, 3)}
                for token, name, share in zip(row, tokenizer.tokens(row), own, strict=True)
            ]
            for row, own in zip(tokens, shares, strict=True)
        ],
    }


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
