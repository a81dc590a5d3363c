"""What the recipes of the benchmarks promise: a model in the folder, and a record of how it came about."""

import dataclasses
import json
from pathlib import Path

import torch

from annotated_transformer.checkpoint import load
from annotated_transformer.config import TINY
from annotated_transformer.text.corpus import Corpus
from annotated_transformer.text.toy import toy_pairs
from annotated_transformer.training.config import TrainingConfig
from benchmarks.recipe import Recipe, follow

SHAPE = dataclasses.replace(TINY, num_layers=1, d_model=8, d_ff=16, num_heads=2)
RECIPE = Recipe(
    shape=SHAPE,
    vocab_size=301,
    training=TrainingConfig(steps=17, batch_tokens=211, warmup_steps=3, peak=1e-2, fast=True),
    average=2,
    bpe_dropout=0.1,
)


def corpus() -> Corpus:
    texts = [(pair.source, pair.target) for pair in toy_pairs(97)]
    return Corpus(name="toy", splits={"train": texts[:83], "val": texts[83:]}, skipped={}, terms="")


def test_law_a_recipe_that_was_stopped_ends_where_it_would_have(tmp_path: Path):
    whole = follow(RECIPE, corpus(), seed=3, folder=tmp_path / "whole")
    brief = dataclasses.replace(RECIPE, training=dataclasses.replace(RECIPE.training, steps=7))
    follow(brief, corpus(), seed=3, folder=tmp_path / "resumed")
    resumed = follow(RECIPE, corpus(), seed=3, folder=tmp_path / "resumed")
    weights = [load(tmp_path / name)[0].state_dict() for name in ("whole", "resumed")]
    torch.testing.assert_close(*weights, rtol=0, atol=0)
    assert whole["epochs"][-1]["step"] == resumed["epochs"][-1]["step"] == 17
    assert whole["parameters"] == sum(p.numel() for p in load(tmp_path / "whole")[0].parameters())
    assert whole["training_pairs"] == 83
    json.dumps(whole)


def test_law_another_seed_is_another_model(tmp_path: Path):
    for seed in (3, 4):
        follow(RECIPE, corpus(), seed=seed, folder=tmp_path / str(seed))
    first, second = (load(tmp_path / name)[0].embedding.weight for name in ("3", "4"))
    assert not torch.equal(first, second)
