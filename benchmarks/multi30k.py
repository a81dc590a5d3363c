"""Train a tiny model on Multi30k, English to German, and score it like published models.

    python -m benchmarks.multi30k --data DIR --out FOLDER --seed 0 --test

There are four steps. A model learns to translate in both directions. The forward teacher resumes this run:
two more bidirectional epochs, then English to German only. The backward teacher starts from the weights of
the bidirectional model and learns German to English. Both translate the training sentences. A student starts
from the forward teacher's weights and trains on the real pairs and these translations.

Give a folder that does not exist yet. The recipes were chosen on the validation set, with one exception for
the model's shape, which the `README.md` beside this file explains. The test sets are translated only with
`--test`. Only then is the result written to `results/`; otherwise, it is written to the folder.
"""

import dataclasses
import multiprocessing
import shutil
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import torch

from annotated_transformer import TINY, Corpus, TrainingConfig, Translator, load_corpus
from annotated_transformer.checkpointing.training_state_file import read_progress
from annotated_transformer.decoding import PlainLength, Temperature
from annotated_transformer.evaluation import sacrebleu_13a
from annotated_transformer.evaluation.bleu import multi30k_bleu_of_prepared
from annotated_transformer.text.moses import Recaser, moses_lowercase
from annotated_transformer.text.sentence_pairs import SentencePair, keep_usable
from annotated_transformer.training import Recipe, train_from_recipe
from benchmarks.quality import beam_scores, describe_training, sides
from benchmarks.record import begin, write_result

TRAINING = TrainingConfig(batch_tokens=4096, label_smoothing=0.1, bf16=True, fast=True)
BOTH_WAYS = Recipe(
    shape=TINY,
    training=dataclasses.replace(TRAINING, steps=2500, warmup_steps=1000, max_lr=3e-3),
    bidirectional=12,  # epochs: all of this run, and two more of the forward teacher's
    average=3,
)
FORWARD = dataclasses.replace(
    BOTH_WAYS, training=dataclasses.replace(BOTH_WAYS.training, steps=6500), average=10
)
BACKWARD = Recipe(
    shape=TINY,
    training=dataclasses.replace(TRAINING, steps=3000, warmup_steps=300, max_lr=2e-3),
    average=5,
)
STUDENT = Recipe(
    shape=dataclasses.replace(TINY, dropout=0.2),
    training=dataclasses.replace(TRAINING, steps=4500, warmup_steps=300, max_lr=1.5e-3),
    average=5,
)
DRAWN = 2  # sampled translations of each German sentence, besides that of beam search
SHARPER = Temperature(0.8)


def prepared(pairs: list[SentencePair]) -> list[SentencePair]:
    """Return the pairs lowercased and tokenized by Moses, with spaces between tokens."""
    return [(moses_lowercase(source, "en"), moses_lowercase(target, "de")) for source, target in pairs]


def learn(recipe: Recipe, corpus: Corpus, folder: Path, *, seed: int, start: Path | None = None) -> None:
    """Train from the recipe, and print the metrics of each epoch after the name of the folder."""
    train_from_recipe(recipe, corpus, folder, seed=seed, start=start, log=partial(print, folder.name))


def teach(
    recipe: Recipe, corpus: Corpus, folder: Path, *, seed: int, start: Path | None = None, drawn: int = 0
) -> tuple[list[list[str]], float]:
    """Train a teacher, which translates the training sources, and return its translations and the minutes.

    It translates them once with beam search and `drawn` times by sampling. Each teacher uses one thread: two
    in parallel are faster than one after the other on two threads.
    """
    torch.set_num_threads(1)
    learn(recipe, corpus, folder, seed=seed, start=start)
    sources, _ = sides(corpus.splits["train"])
    translator, begun = Translator.from_folder(folder, fast=True), time.monotonic()
    rng = torch.Generator().manual_seed(seed)
    sampled = [
        translator.sample(sources, generator=rng, logits_processors=[SHARPER], split=False)
        for _ in range(drawn)
    ]
    best = translator.translate(sources, beam_size=5, length_penalty=PlainLength(), split=False)
    return [best, *sampled], (time.monotonic() - begun) / 60


def diversified(corpus: Corpus, forward: list[list[str]], backward: list[list[str]]) -> Corpus:
    """Return the corpus with the teachers' translations of all sources and targets as extra training pairs.

    Only new, usable pairs are added, each once. This is the data diversification of Nguyen et al. (2020),
    with several translations of each target.
    """
    pairs = corpus.splits["train"]
    sources, targets = sides(pairs)
    more = [pair for translations in forward for pair in zip(sources, translations, strict=True)]
    more += [pair for translations in backward for pair in zip(translations, targets, strict=True)]
    there = set(pairs)
    usable, _ = keep_usable([pair for pair in dict.fromkeys(more) if pair not in there])
    return dataclasses.replace(corpus, splits=corpus.splits | {"train": pairs + usable})


def train(corpus: Corpus, out: Path, *, seed: int) -> dict[str, object]:
    """Train the four models in subfolders of `out`; return what to record about them."""
    both, forward, backward, student = (
        out / name for name in ("bidirectional", "forward", "backward", "student")
    )
    learn(BOTH_WAYS, corpus, both, seed=seed)
    shutil.copytree(both, forward)
    reverse = corpus.reversed()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        teachers = (
            pool.submit(teach, FORWARD, corpus, forward, seed=seed),
            pool.submit(teach, BACKWARD, reverse, backward, seed=seed, start=both, drawn=DRAWN),
        )
        translations, translating = zip(*(teacher.result() for teacher in teachers), strict=True)
    more = diversified(corpus, *translations)
    learn(STUDENT, more, student, seed=seed, start=forward)
    minutes = {folder: read_progress(folder).seconds / 60 for folder in (both, forward, backward, student)}
    # The teachers train and translate in parallel, and the forward one resumes the bidirectional run.
    teaching = max(minutes[forward] + translating[0], minutes[both] + minutes[backward] + translating[1])
    return {
        "bidirectional": describe_training(BOTH_WAYS, corpus, both),
        "forward": describe_training(FORWARD, corpus, forward),
        "backward": describe_training(BACKWARD, reverse, backward),
        "student": describe_training(STUDENT, more, student),
        "minutes": round(teaching + minutes[student], 1),
    }


def judge(folder: Path, plain: Corpus, splits: list[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the BLEU of the model in `folder` by both measures; its input is lowercased and tokenized.

    For the cased measure, Moses' recaser first restores the case of the translations.
    """
    recase = Recaser((target for _, target in plain.splits["train"]), "de")
    measures = {
        "multi30k": multi30k_bleu_of_prepared,
        "cased 13a": lambda texts, references: sacrebleu_13a([*map(recase, texts)], references),
    }
    held_out = {  # lowercased, tokenized sources and original references
        split: [(moses_lowercase(source, "en"), target) for source, target in plain.splits[split]]
        for split in splits
    }
    translator = Translator.from_folder(folder, fast=True)
    return beam_scores(translator, held_out, measures, length_penalty=PlainLength())


def main() -> None:
    """Train, score, and write the result."""
    options = begin(__doc__, "data", "out", "test", seed=0, threads=2)
    plain, seed = load_corpus("multi30k", folder=options.data), options.seed
    splits = {name: prepared(plain.splits[name]) for name in ("train", "val")}
    results = train(dataclasses.replace(plain, splits=splits), options.out, seed=seed)
    judged = [split for split in plain.splits if split == "val" or (options.test and split != "train")]
    results["scores"] = judge(options.out / "student", plain, judged)
    folder = None if options.test else options.out  # the chapters show only complete results
    write_result(f"multi30k_seed{seed}", results, seed=seed, folder=folder)


if __name__ == "__main__":
    main()
