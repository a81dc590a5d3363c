"""The explorer's own script: the files of `ui`, and the data about the book that they need."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from annotated_transformer.book.explorer import first_frame
from annotated_transformer.checkpointing.checkpoint import pretrained_folder, pretrained_names
from builder.chapters import Chapter
from builder.explorer.pack import join_scripts, model_script

HERE = Path(__file__).parent
LEAST = 0.03  # smaller attention weights are neither drawn nor described, here and on the cover
EXAMPLES = {  # with the translations that the page shows: a test computes them
    "en-de": {
        "I hope that you can come tomorrow.": "Ich hoffe, dass du morgen kommen kannst.",
        "The old man did not want to sell his house.": "Der alte Mann wollte sein Haus nicht verkaufen.",
        "If it rains tomorrow, we will stay at home.": "Wenn es morgen regnet, bleiben wir zu Hause.",
        "We have to wait until she comes back.": "Wir müssen warten, bis sie zurückkommt.",
    },
    "de-en": {
        "Ich hoffe, dass du morgen kommen kannst.": "I hope you can come tomorrow.",
        "Gestern habe ich ein altes Buch gekauft.": "Yesterday I bought an old book.",
        "Das Buch, das du mir gegeben hast, liegt auf dem Tisch.": "The book you gave me is on the table.",
        "Er konnte nicht kommen, weil er krank war.": "He couldn't come because he was sick.",
    },
}


def explorer_script(models: dict[str, str], chapters: Iterable[Chapter]) -> str:
    """Return the script of the pages that show the explorer.

    `models` maps each direction to the size of its script, which the button shows.
    """
    data = json.dumps(book_data(models, chapters), ensure_ascii=False)
    body = join_scripts(HERE / "ui" / "main.js")
    return f'(() => {{\n"use strict";\nconst BOOK = {data};\n\n{body}}})();\n'


def book_data(models: dict[str, str], chapters: Iterable[Chapter]) -> dict[str, Any]:
    """Return the script's data about the models and the chapters."""
    config = json.loads(
        (pretrained_folder(pretrained_names()[0]) / "config.json").read_text(encoding="utf-8")
    )
    return {
        "models": {
            direction: {
                "size": size,
                "examples": list(EXAMPLES[direction]),
                "limits": limits()[direction],
            }
            for direction, size in sorted(models.items(), key=lambda item: item[0] != "en-de")
        },
        "shape": {
            "layers": config["num_layers"],
            "heads": config["num_heads"],
            "width": config["d_model"],
            "vocabulary": config["vocab_size"],
            "special": {name: config[f"{name}_id"] for name in ("pad", "bos", "eos")},
        },
        "kinds": {
            kind: {**entry, "page": f"chapters/api/{entry['function'].split('.')[1]}"}
            for kind, entry in kinds().items()
        },
        "frame": json.loads(first_frame.FILE.read_text(encoding="utf-8")),
        "full": first_frame.FULL,
        "least": LEAST,
        "chapters": {c.number: {"title": c.title, "page": c.file} for c in chapters},
    }


def kinds() -> dict[str, Any]:
    """Return, for each kind of tensor: title, words, formula, and its function, test and chapter."""
    return dict(json.loads((HERE / "provenance.json").read_text(encoding="utf-8")))


def limits() -> dict[str, Any]:
    """Return what the shipped models know, beyond which the page warns, and how it was measured."""
    return dict(json.loads((HERE / "limits.json").read_text(encoding="utf-8")))


def model_size(direction: str) -> str:
    """Return the download size of a model, as a button shows it: 3.5 MB."""
    return f"{len(model_script(direction)) / 1e6:.1f} MB"
