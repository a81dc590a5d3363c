"""Train a tiny model on Multi30k, English to German, and score it like published models.

    python -m benchmarks.multi30k --data DIR --out FOLDER --seed 0 --test

There are four steps. A model learns to translate in both directions. The forward teacher resumes this run:
two more bidirectional epochs, then English to German only. The backward teacher starts from the weights of
the bidirectional model and learns German to English. Both translate the training sentences. A student starts
from the forward teacher's weights and trains on the real pairs and these translations.

Give a folder that does not exist yet; an interrupted run resumes with the same command. The recipes were
chosen on the validation set, with one exception for the model's shape, which the `README.md` beside this file
explains. Each complete run is added to `results/tries_multi30k.json`, with its validation BLEU. The test sets
are translated only with `--test`. Only then is the result written to `results/`; otherwise, it is written to
the folder.
"""

import argparse
import dataclasses
import functools
import multiprocessing
import shutil
from argparse import RawDescriptionHelpFormatter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.config import TINY
from annotated_transformer.decoding.length_penalty import PlainLength
from annotated_transformer.decoding.sampling import Temperature
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.evaluation.bleu import multi30k_bleu_of_prepared, sacrebleu_13a
from annotated_transformer.text.corpus import Corpus, load_corpus
from annotated_transformer.text.moses import Recaser, moses_lowercase
from annotated_transformer.text.sentence_pairs import SentencePair
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import Recipe
from benchmarks.quality import beam_scores, describe_training
from benchmarks.record import RESULTS, describe_code, write_result
from benchmarks.teaching import cached, learn, minutes_trained, weights_digest, with_pairs
from benchmarks.tries import add_try

LANGUAGES = ("en", "de")
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
    source, target = ([moses_lowercase(pair[side], LANGUAGES[side]) for pair in pairs] for side in (0, 1))
    return list(zip(source, target, strict=True))


@dataclass(frozen=True, kw_only=True)
class Teacher:
    """A model to train in `folder`, which then translates the source sentences of its training set.

    It translates them once with beam search and `drawn` times by sampling.
    """

    recipe: Recipe
    corpus: Corpus
    folder: Path
    start: Path | None = None
    drawn: int = 0


def teach(teacher: Teacher, *, seed: int) -> tuple[list[list[str]], float]:
    """Return a teacher's translations, which are cached in its folder, and the minutes they took.

    Each teacher uses one thread: two in parallel are faster than one after the other on two threads.
    """
    torch.set_num_threads(1)
    folder, corpus, drawn = teacher.folder, teacher.corpus, teacher.drawn
    learn(teacher.recipe, corpus, folder, seed=seed, start=teacher.start)

    def translate() -> list[list[str]]:
        sources = [source for source, _ in corpus.splits["train"]]
        translator = Translator.from_folder(folder, fast=True)
        rng = torch.Generator().manual_seed(seed)
        sampled = (
            translator.sample(sources, generator=rng, logits_processors=[SHARPER]) for _ in range(drawn)
        )
        return [translator.translate(sources, beam_size=5, length_penalty=PlainLength()), *sampled]

    key = {"weights": weights_digest(folder), "drawn": drawn}
    return cached(folder / "translations.json", key, translate)


def diversified(corpus: Corpus, forward: list[list[str]], backward: list[list[str]]) -> Corpus:
    """Return the corpus with the teachers' translations of all sources and targets as extra training pairs.

    Only new, usable pairs are added, each once. This is the data diversification of Nguyen et al. (2020),
    with several translations of each target.
    """
    sources, targets = zip(*corpus.splits["train"], strict=True)
    more = [pair for translations in forward for pair in zip(sources, translations, strict=True)]
    more += [pair for translations in backward for pair in zip(translations, targets, strict=True)]
    return with_pairs(corpus, more)


def train(corpus: Corpus, out: Path, *, seed: int) -> dict[str, object]:
    """Train the four models in subfolders of `out`; return what to record about them."""
    both, student = out / "bidirectional", out / "student"
    teachers = (
        Teacher(recipe=FORWARD, corpus=corpus, folder=out / "forward"),
        Teacher(recipe=BACKWARD, corpus=corpus.reversed(), folder=out / "backward", start=both, drawn=DRAWN),
    )
    learn(BOTH_WAYS, corpus, both, seed=seed)
    copy(both, teachers[0].folder)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        done = pool.map(functools.partial(teach, seed=seed), teachers)
        translations, translating = zip(*done, strict=True)
    more = diversified(corpus, *translations)
    learn(STUDENT, more, student, seed=seed, start=teachers[0].folder)
    shared, forward, backward = (
        minutes_trained(folder) for folder in (both, *(teacher.folder for teacher in teachers))
    )
    teaching = max(forward + translating[0], shared + backward + translating[1])  # in parallel
    return {
        "bidirectional": describe_training(BOTH_WAYS, corpus, both),
        **{
            teacher.folder.name: describe_training(teacher.recipe, teacher.corpus, teacher.folder)
            for teacher in teachers
        },
        "translating_minutes": [round(minutes, 1) for minutes in translating],
        "student": describe_training(STUDENT, more, student),
        "minutes": round(teaching + minutes_trained(student), 1),
    }


def settings() -> dict[str, object]:
    """Return the settings of a run, for the list of all runs."""
    recipes = {"bidirectional": BOTH_WAYS, "forward": FORWARD, "backward": BACKWARD, "student": STUDENT}
    return {"drawn": DRAWN} | {part: dataclasses.asdict(recipe) for part, recipe in recipes.items()}


def copy(training: Path, folder: Path) -> None:
    """Copy a training run to `folder`, to resume it there, unless `folder` exists."""
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}.copying")
        shutil.copytree(training, unfinished, dirs_exist_ok=True)
        unfinished.rename(folder)


def judge(folder: Path, plain: Corpus, splits: list[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the BLEU of the model in `folder` by both measures; its input is lowercased and tokenized.

    For the cased measure, Moses' recaser first restores the case of the translations.
    """
    recase = Recaser((target for _, target in plain.splits["train"]), LANGUAGES[1])
    measures = {
        "multi30k": multi30k_bleu_of_prepared,
        "cased 13a": lambda found, references: sacrebleu_13a([*map(recase, found)], references),
    }
    held_out = {  # lowercased, tokenized sources and original references
        split: [(moses_lowercase(source, LANGUAGES[0]), target) for source, target in plain.splits[split]]
        for split in splits
    }
    translator = Translator.from_folder(folder, fast=True)
    return beam_scores(translator, held_out, measures, length_penalty=PlainLength())


def validation_bleu(scores: dict[str, dict[str, dict[str, Any]]]) -> float:
    """Return the score by which runs are compared."""
    return round(float(scores["multi30k"]["val, beam 5"]["bleu"]), 2)


def main() -> None:
    """Train, score, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpus")
    parser.add_argument("--out", type=Path, required=True, help="folder for the training runs")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="number of CPU threads (%(default)s)")
    parser.add_argument("--test", action="store_true", help="translate the test sets, too")
    options = parser.parse_args()
    describe_code()
    torch.set_num_threads(options.threads)
    plain = load_corpus("multi30k", folder=options.data)
    splits = {name: prepared(plain.splits[name]) for name in ("train", "val")}
    seed = options.seed
    results = train(dataclasses.replace(plain, splits=splits), options.out, seed=seed)
    judged = [split for split in plain.splits if split == "val" or (options.test and split != "train")]
    student = options.out / "student"
    results["scores"] = scores = judge(student, plain, judged)
    add_try(
        RESULTS / "tries_multi30k.json",
        settings=settings(),
        seed=seed,
        weights=weights_digest(student),
        validation={"student": validation_bleu(scores)},
    )
    place = RESULTS if options.test else options.out  # the tables use only complete results
    write_result(place / f"multi30k_seed{seed}.json", seed=seed, results=results)


if __name__ == "__main__":
    main()
