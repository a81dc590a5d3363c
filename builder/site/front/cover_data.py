"""The cover's data: what a shipped model's cross-attention reads while it translates one short sentence.

`python -m builder.site.front.cover_data` writes `static/cover.json`; a test recomputes it.
"""

import json
from pathlib import Path
from typing import Any

from annotated_transformer.book.explorer.int8 import explorer_translator

MODEL = "en-de"
SENTENCE = "I hope that you can come tomorrow."  # German reverses its last three words
FILE = Path(__file__).parents[1] / "static" / "cover.json"
DIGITS = 4  # with a digit less, some percentages would be rounded twice: 3.46 to 3.5, and that to 4


def alignment() -> dict[str, Any]:
    """Return tokens and weights: the last decoder layer's cross-attention, averaged over its heads.

    A row of `weights` belongs to a target token, a column to a source token, and a row sums to 1 before
    rounding. The row of the target's end-of-sentence token is left out; the source's column is kept.
    """
    translation = explorer_translator(MODEL).explain([SENTENCE])[0]
    layers, heads = translation.attention.shape[:2]
    weights = translation.attention[-1].mean(dim=0)[:-1]
    return {
        "model": MODEL,
        "sentence": SENTENCE,
        "translation": translation.text,
        "layer": layers,
        "heads": heads,
        "source": [token.strip() for token in translation.source_tokens],
        "target": [token.strip() for token in translation.target_tokens[:-1]],
        "weights": [[round(float(weight), DIGITS) for weight in row] for row in weights],
    }


def write_cover(file: Path = FILE) -> None:
    """Write the alignment as JSON, one row of weights per line."""
    data = alignment()
    rows = ",\n  ".join(json.dumps(row) for row in data.pop("weights"))
    head = json.dumps(data, ensure_ascii=False, indent=1).removesuffix("\n}")
    file.write_text(f'{head},\n "weights": [\n  {rows}\n ]\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    write_cover()
