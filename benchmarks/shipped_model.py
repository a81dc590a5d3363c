"""Train a model for the package on Tatoeba, English to German or German to English.

    python -m benchmarks.shipped_model --data DIR --out FOLDER
    python -m benchmarks.shipped_model --data DIR --out FOLDER --source de --target en

Give a folder that does not exist yet; an interrupted run resumes with the same command.
"""

import argparse
import dataclasses
from argparse import RawDescriptionHelpFormatter
from pathlib import Path

import torch
from tqdm import tqdm

from annotated_transformer.config import TINY
from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import Recipe, train_from_recipe
from benchmarks.quality import describe_training
from benchmarks.record import RESULTS, describe_code, write_result

RECIPES = {
    source: Recipe(
        shape=dataclasses.replace(TINY, vocab_size=6000, d_model=160, d_ff=512, num_heads=5, dropout=0.1),
        training=TrainingConfig(
            steps=steps, batch_tokens=4096, warmup_steps=1000, max_lr=2.5e-3, bf16=True, fast=True
        ),
        average=3,
    )
    for source, steps in {"en": 4383, "de": 4347}.items()  # nine epochs
}


def main() -> None:
    """Train and record the run; `benchmarks.ship` evaluates the model that it adds to the package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpus")
    parser.add_argument("--out", type=Path, required=True, help="run directory")
    parser.add_argument("--source", choices=RECIPES, default="en", help="translate from (%(default)s)")
    parser.add_argument("--target", choices=RECIPES, default="de", help="translate into (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="number of CPU threads (%(default)s)")
    options = parser.parse_args()
    describe_code()
    torch.set_num_threads(options.threads)
    corpus = load_corpus("tatoeba", folder=options.data, source=options.source, target=options.target)
    recipe = RECIPES[options.source]
    train_from_recipe(
        recipe, corpus, options.out, seed=options.seed, log=lambda report: tqdm.write(str(report))
    )
    results = describe_training(recipe, corpus, options.out)
    name = f"shipped_{options.source}-{options.target}.json"
    write_result(RESULTS / name, seed=options.seed, results=results)


if __name__ == "__main__":
    main()
