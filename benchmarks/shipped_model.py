"""Train a model on Tatoeba, English to German or German to English, and add it to the package.

    python -m benchmarks.shipped_model --data DIR --out FOLDER
    python -m benchmarks.shipped_model --data DIR --out FOLDER --further

The first command trains from random weights, the second from those of the shipped model, whose scores it
records. Add `--source de --target en` for German to English. Give a folder that does not exist yet; an
interrupted run resumes with the same command. Then the weights are rounded to float16 and evaluated as
shipped, and the model's card is written. The same command evaluates a trained model again.
"""

import dataclasses
import hashlib
import json
import statistics
from pathlib import Path
from typing import Any

import torch

from annotated_transformer import TINY, Corpus, TrainingConfig, Translator, load_corpus
from annotated_transformer.book.results import read_result
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.evaluation import sacrebleu_13a
from annotated_transformer.text.sentence_pairs import SentencePair
from annotated_transformer.training import Recipe, train_from_recipe
from benchmarks.model_card import write_card
from benchmarks.quality import beam_scores, describe_training
from benchmarks.record import begin, with_origin, write_result

SHAPE = dataclasses.replace(TINY, vocab_size=6000, d_model=160, d_ff=512, num_heads=5, dropout=0.1)
TRAINING = TrainingConfig(batch_tokens=4096, warmup_steps=1000, max_lr=2.5e-3, bf16=True, fast=True)
FURTHER = dataclasses.replace(TRAINING, warmup_steps=300, max_lr=1.5e-3)
UPDATES = {"en": 487, "de": 483}  # of an epoch, by source language


def recipe(source: str, *, further: bool) -> Recipe:
    """Return the recipe of a model's first training run, or of its second."""
    training, epochs, average = (FURTHER, 10, 5) if further else (TRAINING, 9, 3)
    steps = epochs * UPDATES[source]
    return Recipe(shape=SHAPE, training=dataclasses.replace(training, steps=steps), average=average)


def train(name: str, corpus: Corpus, folder: Path, *, further: bool, seed: int) -> dict[str, object]:
    """Train a model, and return the record of its training run; `further` starts from the shipped model."""
    begun, before = recipe(name[:2], further=further), {}
    if further:
        shipped = read_result(f"weights_{name}")
        before = {"before": {part: shipped[part] for part in ("files", "scores", "training")}}
    start = checkpoint.PRETRAINED / name if further else None
    train_from_recipe(begun, corpus, folder, seed=seed, start=start, log=print)
    return with_origin(describe_training(begun, corpus, folder) | before, seed)


def ship(name: str, corpus: Corpus, model: Path, training: dict[str, Any]) -> None:
    """Write the model in the folder `model` to the package, with its result file and its card."""
    source, target = name.split("-")
    folder = checkpoint.PRETRAINED / name
    trained, tokenizer = checkpoint.load(model)
    checkpoint.save(folder, trained, tokenizer, stored=torch.float16, languages=(source, target))
    translator = Translator.from_pretrained(name)
    shipped = read_result(f"weights_{name}")  # its texts are translated again
    examples, beyond = (
        dict(zip(texts, translator.translate([*texts], split=False), strict=True))
        for texts in (shipped["examples"], shipped["beyond"])
    )
    results = {
        "source": source,
        "target": target,
        "files": {file: describe_file(folder / file) for file in checkpoint.FILES},
        "parameters": sum(parameter.numel() for parameter in trained.parameters()),
        "vocabulary": tokenizer.vocab_size,
        "corpus": describe(corpus),
        **judge(translator, corpus),
        "examples": examples,
        "beyond": beyond,
        "training": training,
    }
    write_result(f"weights_{name}", results, seed=training["seed"])
    write_card(name)


def describe_file(path: Path) -> dict[str, object]:
    """Return the file's size and SHA-256 digest."""
    data = path.read_bytes()
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def describe(corpus: Corpus) -> dict[str, object]:
    """Return the statistics and the license of the corpus for the model card."""
    lengths = sorted(len(source.split()) for source, _ in corpus.splits["train"])
    return {
        "pairs": {split: len(pairs) for split, pairs in corpus.splits.items()},
        "mean_words": round(statistics.mean(lengths), 2),
        "words_of_99_percent": lengths[len(lengths) * 99 // 100],
        "terms": corpus.terms,
    }


def judge(translator: Translator, corpus: Corpus) -> dict[str, object]:
    """Return the BLEU on each held-out split, and on test sentences joined into longer texts."""
    held_out = {split: corpus.splits[split] for split in ("val", "test")}
    joined = {str(number): join(held_out["test"], number) for number in (2, 4)}
    scores, of_joined = (
        beam_scores(translator, splits, {"13a": sacrebleu_13a})["13a"] for splits in (held_out, joined)
    )
    return {"scores": scores, "joined": {number: of_joined[f"{number}, beam 5"] for number in joined}}


def join(pairs: list[SentencePair], number: int) -> list[SentencePair]:
    """Join each `number` consecutive pairs into one; an incomplete group at the end is dropped."""
    groups = zip(*(pairs[start::number] for start in range(number)), strict=False)
    return [(" ".join(s for s, _ in group), " ".join(t for _, t in group)) for group in groups]


def main() -> None:
    """Train a model, unless the folder has one, and add it to the package."""
    options = begin(__doc__, "data", "out", "source", "target", "further", seed=0, threads=2)
    corpus = load_corpus("tatoeba", folder=options.data, source=options.source, target=options.target)
    name, training = f"{options.source}-{options.target}", options.out / "training.json"
    if not training.exists():
        record = train(name, corpus, options.out, further=options.further, seed=options.seed)
        training.write_text(json.dumps(record), encoding="utf-8")
    ship(name, corpus, options.out, json.loads(training.read_text("utf-8")))


if __name__ == "__main__":
    main()
