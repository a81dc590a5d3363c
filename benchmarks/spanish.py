"""Does a model of another pair of languages help if there are few pairs?

    python -m benchmarks.spanish

Models are trained from English to Spanish on 30 pairs of the guide's small grammar, for 150 updates: from
the shipped English–German model; from random weights, with everything else as in that model; and from random
weights, with a shape and settings for few pairs. The result has BLEU (beam 5) on 200 other pairs for each of
three seeds, from which the pairs are drawn, too.
"""

import dataclasses
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from annotated_transformer.book.spanish import spanish_pairs
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.checkpoint import pretrained_folder
from annotated_transformer.config import TINY
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.evaluation.bleu import sacrebleu_13a
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.corpus import Corpus
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import Recipe, train_from_recipe
from benchmarks.record import RESULTS, begin, write_result

PAIRS, TEST, SEEDS = 30, 200, (0, 1, 2)
TRAINING = TrainingConfig(steps=150, batch_tokens=1024, warmup_steps=50, max_lr=1e-3, fast=True)
WAYS = ("from en-de", "from random weights, otherwise as en-de", "a small model from random weights")


def recipe_of(way: str) -> Recipe:
    """Return the settings of one of the three ways."""
    if way == WAYS[2]:
        shape = dataclasses.replace(TINY, vocab_size=400, norm="pre", dropout=0.1)
        return Recipe(shape=shape, training=dataclasses.replace(TRAINING, max_lr=3e-3))
    return Recipe(shape=checkpoint.load(pretrained_folder("en-de"))[0].config, training=TRAINING)


def start_of(way: str, seed: int, folder: Path) -> Path | None:
    """Return the folder of the model that training starts from, if there is one."""
    shipped = pretrained_folder("en-de")
    if way == WAYS[1]:
        model, tokenizer = checkpoint.load(shipped)
        torch.manual_seed(seed)
        checkpoint.save(folder, Transformer(model.config), tokenizer)
        return folder
    return shipped if way == WAYS[0] else None


def main() -> None:
    """Train, score, and write the result."""
    begin(ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter))
    bleu: dict[str, list[float]] = {way: [] for way in WAYS}
    for seed, way in product(SEEDS, WAYS):
        pairs = list(dict.fromkeys(spanish_pairs(2 * (PAIRS + TEST), seed=seed)))
        texts, references = map(list, zip(*pairs[PAIRS : PAIRS + TEST], strict=True))
        corpus = Corpus(name="spanish", splits={"train": pairs[:PAIRS]}, skipped={}, terms="")
        with TemporaryDirectory() as name:
            start, folder = start_of(way, seed, Path(name) / "start"), Path(name) / "model"
            train_from_recipe(recipe_of(way), corpus, folder, seed=seed, start=start)
            found = Translator.from_folder(folder).translate(texts, beam_size=5)
        bleu[way].append(sacrebleu_13a(found, references).bleu)
        print(way, seed, bleu[way][-1], flush=True)
    write_result(
        RESULTS / "spanish.json", seed=SEEDS[0], results={"pairs": PAIRS, "test": TEST, "bleu": bleu}
    )


if __name__ == "__main__":
    main()
