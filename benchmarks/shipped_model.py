"""Train a model for the package on Tatoeba, English to German or German to English.

    python -m benchmarks.shipped_model --data DIR --out FOLDER
    python -m benchmarks.shipped_model --data DIR --out FOLDER --further

The first command trains from random weights, the second from those of the shipped model, whose scores it
records. Add `--source de --target en` for German to English. Give a folder that does not exist yet; an
interrupted run resumes with the same command.
"""

import dataclasses
from pathlib import Path

from annotated_transformer.book.results import read_result
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.config import TINY
from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import Recipe, train_from_recipe
from benchmarks.quality import describe_training
from benchmarks.record import RESULTS, add_languages, begin, data_parser, write_result

SHAPE = dataclasses.replace(TINY, vocab_size=6000, d_model=160, d_ff=512, num_heads=5, dropout=0.1)
TRAINING = TrainingConfig(batch_tokens=4096, warmup_steps=1000, max_lr=2.5e-3, bf16=True, fast=True)
UPDATES = {"en": 487, "de": 483}  # of an epoch, by source language


def _recipes(training: TrainingConfig, *, epochs: int, average: int) -> dict[str, Recipe]:
    return {
        source: Recipe(
            shape=SHAPE, training=dataclasses.replace(training, steps=epochs * updates), average=average
        )
        for source, updates in UPDATES.items()
    }


FIRST = _recipes(TRAINING, epochs=9, average=3)
FURTHER = _recipes(dataclasses.replace(TRAINING, warmup_steps=300, max_lr=1.5e-3), epochs=10, average=5)


def before(name: str) -> tuple[Path, dict[str, object]]:
    """Return the folder of the shipped model, and what to record about it when it is trained further."""
    shipped = read_result(f"weights_{name}")
    kept = {part: shipped[part] for part in ("files", "scores", "training")}
    return checkpoint.PRETRAINED / name, {"before": kept}


def main() -> None:
    """Train and record the run; `benchmarks.ship` evaluates the model that it adds to the package."""
    parser = data_parser(__doc__)
    parser.add_argument("--out", type=Path, required=True, help="run directory")
    parser.add_argument("--further", action="store_true", help="train the shipped model further")
    add_languages(parser)
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="number of CPU threads (%(default)s)")
    options = begin(parser)
    corpus = load_corpus("tatoeba", folder=options.data, source=options.source, target=options.target)
    name = f"{options.source}-{options.target}"
    recipe = (FURTHER if options.further else FIRST)[options.source]
    start, shipped = before(name) if options.further else (None, {})
    train_from_recipe(recipe, corpus, options.out, seed=options.seed, start=start, log=print)
    results = describe_training(recipe, corpus, options.out) | shipped
    write_result(RESULTS / f"shipped_{name}.json", seed=options.seed, results=results)


if __name__ == "__main__":
    main()
