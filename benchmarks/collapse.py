"""Which warm-up keeps the encoder of a small post-norm model from collapsing?

    python -m benchmarks.collapse --data DIR --out FOLDER

Models of the shape that `train` uses by default, with its default settings apart from the warm-up, are
trained on the first 300 and 5,000 and on all 29,000 pairs of Multi30k. A run ends shortly after its warm-up:
by then, the encoder has collapsed or has not. For each run, the result has the health metrics on the first
validation sentences, about every 50 updates. It is written after each run. The same command resumes an
interrupted run, and leaves out those that the result has.
"""

from itertools import product
from pathlib import Path
from typing import Any

from annotated_transformer.book.results import read_result
from annotated_transformer.commands.options.training import DEFAULT_SHAPE, DEFAULT_TRAINING
from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import Recipe, train_from_recipe
from benchmarks.quality import first_pairs, read_epochs
from benchmarks.record import RESULTS, begin, data_parser, describe_code, write_result

PAIRS = (300, 5_000, 29_000)
STEPS = {1_000: 1_100, 200: 300}  # by the updates of the warm-up
SEEDS = (0, 1, 2)
VALIDATION = 100  # sentences
EVERY = 50  # updates
KEPT = ("step", "training_loss", "validation_loss", "encoder_cosine", "cross_attention_entropy")


def recipe(warmup_steps: int, steps: int) -> Recipe:
    """Return the recipe of the `train` command with `--warmup-steps` and `--steps`."""
    given: dict[str, Any] = {"steps": steps, "warmup_steps": warmup_steps, "fast": True}
    return Recipe(shape=DEFAULT_SHAPE, training=TrainingConfig(**(DEFAULT_TRAINING | given)))


def curve(epochs: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return the metrics of the first epoch that ends in each span of updates, and of the last epoch."""
    first = {int(str(epoch["step"])) // EVERY: epoch for epoch in reversed(epochs)}
    shown = [*reversed(first.values())]
    shown += [] if shown[-1] is epochs[-1] else [epochs[-1]]
    return [{name: epoch[name] for name in KEPT} for epoch in shown]


def main() -> None:
    """Train, and write the result after each run."""
    parser = data_parser(__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the models")
    options = begin(parser)
    whole = load_corpus("multi30k", folder=options.data)
    path = RESULTS / "collapse.json"
    runs: list[dict[str, Any]] = read_result(path.stem)["runs"] if path.exists() else []
    done = {(run["seed"], run["pairs"], run["warmup_steps"]) for run in runs}
    for seed, pairs, (warmup_steps, steps) in product(SEEDS, PAIRS, STEPS.items()):
        if (seed, pairs, warmup_steps) in done:
            continue
        corpus = first_pairs(whole, {"train": pairs, "val": VALIDATION})
        folder = options.out / f"{pairs}_{warmup_steps}_{seed}"
        train_from_recipe(recipe(warmup_steps, steps), corpus, folder, seed=seed)
        run = {"pairs": pairs, "warmup_steps": warmup_steps, "seed": seed, "steps": steps} | describe_code()
        metrics = curve(read_epochs(folder))
        runs.append(run | {"curve": metrics})
        write_result(path, seed=SEEDS[0], results={"runs": runs})
        print(run, metrics[-1], flush=True)


if __name__ == "__main__":
    main()
