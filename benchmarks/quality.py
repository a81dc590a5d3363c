"""What the benchmarks of quality share: the record of a training, and the scores of its model."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

from annotated_transformer import checkpoint
from annotated_transformer.decoding.scoring import Score, sacrebleu_13a
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.text.cleaning import SentencePair
from annotated_transformer.text.corpus import Corpus
from annotated_transformer.training.keeper import METRICS
from annotated_transformer.training.recipe import Recipe
from annotated_transformer.training.state_file import read_counters


def describe_training(recipe: Recipe, corpus: Corpus, folder: Path) -> dict[str, object]:
    """Return what is to be recorded of the training in `folder`, which `follow` made."""
    model, _ = checkpoint.load(folder)
    return {
        "recipe": dataclasses.asdict(recipe),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "training_pairs": len(corpus.splits["train"]),
        "minutes": round(read_counters(folder).seconds / 60, 1),  # of all runs, validation included
        "epochs": [json.loads(line) for line in (folder / METRICS).read_text("utf-8").splitlines()],
    }


def score(
    translator: Translator,
    pairs: list[SentencePair],
    *,
    beam_size: int,
    measure: Callable[[list[str], list[str]], Score] = sacrebleu_13a,
    **options: object,
) -> dict[str, object]:
    """Return what `measure` says of the translations, and how many there were."""
    texts, references = map(list, zip(*pairs, strict=True))
    found = measure(translator.translate(texts, beam_size=beam_size, **options), references)
    return dataclasses.asdict(found) | {"texts": len(texts)}


def beam_scores(
    translator: Translator, splits: dict[str, list[SentencePair]], **options: object
) -> dict[str, dict[str, object]]:
    """Return the `score` of each split, greedily and with a beam of 5; print each as it comes."""
    scores = {}
    for split, pairs in splits.items():
        for beam_size in (1, 5):
            name = f"{split}, beam {beam_size}"
            scores[name] = score(translator, pairs, beam_size=beam_size, **options)
            print(f"{name}: {scores[name]['bleu']:.2f} {scores[name]['signature']}", flush=True)
    return scores
