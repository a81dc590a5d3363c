"""Models that teach others: training runs, what they translated, and pairs of it to train on.

A program that calls these resumes after a kill: what is complete in a folder is not done again.
"""

import dataclasses
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.files import digest_tensors, write_together
from annotated_transformer.checkpointing.training_state_file import read_progress
from annotated_transformer.text.corpus import Corpus
from annotated_transformer.text.sentence_pairs import SentencePair, keep_usable
from annotated_transformer.training.recipe import Recipe, train_from_recipe


def learn(
    recipe: Recipe,
    corpus: Corpus,
    folder: Path,
    *,
    seed: int,
    start: Path | None = None,
    device: torch.device | str = "cpu",
) -> None:
    """Train from the recipe, and print the metrics of each epoch after the name of the folder."""

    def say(report: object) -> None:
        tqdm.write(f"{folder.name}: {report}")

    train_from_recipe(recipe, corpus, folder, seed=seed, start=start, device=device, log=say)


def minutes_trained(folder: Path) -> float:
    """Return the minutes that the training run in `folder` took, including validation."""
    return read_progress(folder).seconds / 60


def weights_digest(folder: Path) -> str:
    """Return the digest of the weights of the model in `folder`."""
    return digest_tensors(checkpoint.load(folder)[0].state_dict())


def cached(file: Path, key: dict[str, object], compute: Callable[[], Any]) -> tuple[Any, float]:
    """Return the translations that `compute` returns, and the minutes that it took.

    Both are read from `file` if they are there, and if they were computed for the same `key`.
    """
    known = json.loads(file.read_text("utf-8")) if file.exists() else {}
    if {name: known.get(name) for name in key} != key:
        begun = time.monotonic()
        translations = compute()
        known = {**key, "minutes": (time.monotonic() - begun) / 60, "translations": translations}
        file.parent.mkdir(parents=True, exist_ok=True)
        write_together(file.parent, {file.name: json.dumps(known, ensure_ascii=False).encode()})
    return known["translations"], known["minutes"]


def with_pairs(corpus: Corpus, more: Iterable[SentencePair]) -> Corpus:
    """Return the corpus with more training pairs: those that are new and usable, each once."""
    pairs = corpus.splits["train"]
    there = set(pairs)
    usable, _ = keep_usable([pair for pair in dict.fromkeys(more) if pair not in there])
    return dataclasses.replace(corpus, splits=corpus.splits | {"train": pairs + usable})
