"""Which warm-up keeps the encoder of a small post-norm model from collapsing?

    python -m benchmarks.collapse --data DIR --out FOLDER

Models of the shape that `train` uses by default, with its default settings apart from the warm-up, are
trained on the first 300 and 5,000 and on all 29,000 pairs of Multi30k. A run ends shortly after its warm-up:
by then, the encoder has collapsed or has not. For each run, the result has the encoder's cosine on the first
validation sentences after each epoch. The same command resumes an interrupted run.
"""

import dataclasses
import json
from itertools import product
from typing import Any

from annotated_transformer import TrainingConfig, load_corpus
from annotated_transformer.checkpointing.run_directory import METRICS_FILE
from annotated_transformer.commands.options.training import DEFAULT_SHAPE, DEFAULT_TRAINING
from annotated_transformer.training import Recipe, train_from_recipe
from benchmarks.record import begin, write_result

PAIRS = (300, 5_000, 29_000)
STEPS = {1_000: 1_100, 200: 300}  # by the updates of the warm-up
SEEDS = (0, 1, 2)
VALIDATION = 100  # sentences


def main() -> None:
    """Train as the command `train` does with `--warmup-steps` and `--steps`, and write the result."""
    options = begin(__doc__, "data", "out")
    whole = load_corpus("multi30k", folder=options.data)
    runs = []
    for seed, pairs, (warmup_steps, steps) in product(SEEDS, PAIRS, STEPS.items()):
        changes: dict[str, Any] = {"steps": steps, "warmup_steps": warmup_steps, "fast": True}
        recipe = Recipe(shape=DEFAULT_SHAPE, training=TrainingConfig(**(DEFAULT_TRAINING | changes)))
        splits = {"train": whole.splits["train"][:pairs], "val": whole.splits["val"][:VALIDATION]}
        corpus = dataclasses.replace(whole, splits=whole.splits | splits)
        folder = options.out / f"{pairs}_{warmup_steps}_{seed}"
        train_from_recipe(recipe, corpus, folder, seed=seed)
        epochs = [json.loads(line) for line in (folder / METRICS_FILE).read_text("utf-8").splitlines()]
        curve = [{name: epoch[name] for name in ("step", "encoder_cosine")} for epoch in epochs]
        runs.append({"pairs": pairs, "warmup_steps": warmup_steps, "seed": seed, "curve": curve})
        print({**runs[-1], "curve": curve[-1]}, flush=True)
    write_result("collapse", {"runs": runs}, seed=SEEDS[0])


if __name__ == "__main__":
    main()
