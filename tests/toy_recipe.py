"""A recipe for a tiny model, and a toy corpus to train it on, for the tests of training runs."""

import dataclasses
from pathlib import Path

import torch

from annotated_transformer import TINY, Corpus, Tokenizer, TrainingConfig
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.text.toy.pairs import toy_pairs
from annotated_transformer.training import Recipe

SHAPE = dataclasses.replace(TINY, vocab_size=301, num_layers=1, d_model=8, d_ff=16, num_heads=2)
RECIPE = Recipe(
    shape=SHAPE,
    training=TrainingConfig(steps=17, batch_tokens=499, warmup_steps=3, max_lr=1e-2, fast=True),
    average=2,
    bpe_dropout=0.1,
)


def for_steps(steps: int, recipe: Recipe = RECIPE) -> Recipe:
    """Return a recipe that ends after so many updates."""
    return dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, steps=steps))


def corpus(**settings: object) -> Corpus:
    """Return 97 pairs of the toy language, 83 of them for training."""
    texts = [(pair.source, pair.target) for pair in toy_pairs(97)]
    splits = {"train": texts[:83], "val": texts[83:]}
    return Corpus(**{"name": "toy", "splits": splits, "skipped": {}, "terms": "", **settings})


def own_tokenizer() -> Tokenizer:
    texts = (text for pair in corpus().splits["train"] for text in pair)
    return Tokenizer.train(texts, vocab_size=SHAPE.vocab_size)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return checkpoint.load(folder)[0].state_dict()
