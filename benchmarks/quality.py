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


def describe_training(recipe: Recipe, corpus: Corpus, folder: Path) -> dict[str, object]:
    """Return what to record about the training run of `train_from_recipe` in `folder`."""
    model, _ = checkpoint.load(folder)
    metrics = (folder / METRICS_FILE).read_text("utf-8")
    return {
        "recipe": dataclasses.asdict(recipe),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "training_pairs": len(corpus.splits["train"]),
        "minutes": round(read_progress(folder).seconds / 60, 1),  # of all sessions, including validation
        "epochs": [json.loads(line) for line in metrics.splitlines()],
    }


def beam_scores(
    translator: Translator,
    splits: dict[str, list[SentencePair]],
    measures: dict[str, Measure],
    **options: Any,
) -> dict[str, dict[str, dict[str, object]]]:
    """Return the result of each measure, and the number of texts, for each split and beams of 1 and 5."""
    scores: dict[str, dict[str, dict[str, object]]] = {name: {} for name in measures}
    for split, pairs in splits.items():
        texts, references = sides(pairs)
        for beam_size in (1, 5):
            translations = translator.translate(texts, beam_size=beam_size, split=False, **options)
            for name, measure in measures.items():
                result = measure(translations, references)
                fields = dataclasses.asdict(result) | {"texts": len(references)}
                scores[name][f"{split}, beam {beam_size}"] = fields
                print(f"{name}, {split}, beam {beam_size}: {result.bleu:.2f}", flush=True)
    return scores
