"""What the benchmarks of quality share: records of training runs, and scores of their models."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from annotated_transformer import Corpus, Translator
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.run_directory import METRICS_FILE
from annotated_transformer.checkpointing.training_state_file import read_progress
from annotated_transformer.evaluation import BleuScore
from annotated_transformer.text.sentence_pairs import SentencePair
from annotated_transformer.training import Recipe

Measure = Callable[[list[str], list[str]], BleuScore]  # takes translations and references


def sides(pairs: list[SentencePair]) -> tuple[list[str], list[str]]:
    """Return the sources and the targets of pairs."""
    return [source for source, _ in pairs], [target for _, target in pairs]


def first_pairs(corpus: Corpus, pairs: dict[str, int]) -> Corpus:
    """Return the corpus with only the first `pairs` of each of these splits."""
    cut = {split: corpus.splits[split][:number] for split, number in pairs.items()}
    return dataclasses.replace(corpus, splits=corpus.splits | cut)


def describe_training(recipe: Recipe, corpus: Corpus, folder: Path) -> dict[str, object]:
    """Return what to record about the training run of `train_from_recipe` in `folder`."""
    model, _ = checkpoint.load(folder)
    return {
        "recipe": dataclasses.asdict(recipe),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "training_pairs": len(corpus.splits["train"]),
        "minutes": round(read_progress(folder).seconds / 60, 1),  # of all sessions, including validation
        "epochs": read_epochs(folder),
    }


def read_epochs(folder: Path) -> list[dict[str, object]]:
    """Return the metrics of the training run in `folder` after each epoch."""
    return [json.loads(line) for line in (folder / METRICS_FILE).read_text("utf-8").splitlines()]


def score(translations: list[str], references: list[str], measure: Measure) -> dict[str, object]:
    """Return the result of `measure` and the number of texts."""
    return dataclasses.asdict(measure(translations, references)) | {"texts": len(references)}


def beam_scores(
    translator: Translator,
    splits: dict[str, list[SentencePair]],
    measures: dict[str, Measure],
    **options: Any,
) -> dict[str, dict[str, dict[str, object]]]:
    """Return the `score` of each measure and split for beams of 1 and 5; print each one when computed."""
    scores: dict[str, dict[str, dict[str, object]]] = {name: {} for name in measures}
    for split, pairs in splits.items():
        texts, references = sides(pairs)
        for beam_size in (1, 5):
            translations = translator.translate(texts, beam_size=beam_size, split=False, **options)
            for name, measure in measures.items():
                result = score(translations, references, measure)
                scores[name][f"{split}, beam {beam_size}"] = result
                print(f"{name}, {split}, beam {beam_size}: {result['bleu']:.2f}", flush=True)
    return scores
