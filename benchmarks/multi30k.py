"""Train a tiny model on Multi30k, English to German, and score it as published models are.

    python -m benchmarks.multi30k --data DIR --out FOLDER --seed 0 --test

In four steps. A model learns to translate both ways. The forward teacher is the same training, gone on with,
after two more such epochs one way only; a backward teacher goes the other way from the weights they share.
Both translate the training sentences. From the forward teacher's weights a student goes on, with what both
have written as well. Give a folder that does not exist yet; a run that was stopped goes on with the same
command. The recipes were chosen on the validation set, but for what `README.md`, beside this file, says of
the shape. The test sets are translated only where `--test` says so, and only then the result is written to
`results/`; else it is in the folder.
"""

import argparse
import dataclasses
import functools
import json
import multiprocessing
import shutil
import time
from argparse import RawDescriptionHelpFormatter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch
from tqdm import tqdm

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.files import digest_tensors, write_together
from annotated_transformer.checkpointing.training_state import read_progress
from annotated_transformer.config import TINY
from annotated_transformer.decoding.length_penalty import PlainLength
from annotated_transformer.decoding.sampling import Temperature
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.evaluation.bleu import multi30k_bleu_of_prepared, sacrebleu_13a
from annotated_transformer.text.corpus import Corpus, load_corpus
from annotated_transformer.text.moses import Recaser, moses_lowercase
from annotated_transformer.text.sentence_pairs import SentencePair, keep_usable
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import Recipe, train_from_recipe
from benchmarks.quality import beam_scores, describe_training
from benchmarks.record import RESULTS, describe_code, write_result

LANGUAGES = ("en", "de")
TRAINING = TrainingConfig(batch_tokens=4096, label_smoothing=0.1, bf16=True, fast=True)
BOTH_WAYS = Recipe(
    shape=TINY,
    training=dataclasses.replace(TRAINING, steps=2500, warmup_steps=1000, max_lr=3e-3),
    bidirectional=12,  # epochs: all of these, and the forward teacher's first two
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
DRAWN = 2  # translations into English for each German sentence, besides the likeliest
SHARPER = Temperature(0.8)


def prepared(pairs: list[SentencePair]) -> list[SentencePair]:
    """Return the pairs as Moses prepares them: lowercased, with blanks between tokens."""
    source, target = ([moses_lowercase(pair[side], LANGUAGES[side]) for pair in pairs] for side in (0, 1))
    return list(zip(source, target, strict=True))


def learn(recipe: Recipe, corpus: Corpus, folder: Path, *, seed: int, start: Path | None = None) -> None:
    """Follow the recipe, and print each report with the name of the folder."""

    def say(report: object) -> None:
        tqdm.write(f"{folder.name}: {report}")

    train_from_recipe(recipe, corpus, folder, seed=seed, start=start, log=say)


@dataclass(frozen=True, kw_only=True)
class Teacher:
    """A model to be trained into `folder`, that then translates its training sources.

    Once as a beam finds likeliest, and `drawn` times more at random.
    """

    recipe: Recipe
    corpus: Corpus
    folder: Path
    start: Path | None = None
    drawn: int = 0


def teach(teacher: Teacher, *, seed: int) -> tuple[list[list[str]], float]:
    """Return a teacher's translations, which are kept in its folder, and the minutes they took.

    One thread does it: two teachers side by side are quicker than one after the other with two.
    """
    torch.set_num_threads(1)
    folder, corpus, drawn = teacher.folder, teacher.corpus, teacher.drawn
    learn(teacher.recipe, corpus, folder, seed=seed, start=teacher.start)
    file, weights = folder / "translations.json", digest_tensors(checkpoint.load(folder)[0].state_dict())
    known = json.loads(file.read_text("utf-8")) if file.exists() else {}
    if (known.get("weights"), known.get("drawn")) != (weights, drawn):
        begun, sources = time.monotonic(), [source for source, _ in corpus.splits["train"]]
        translator, rng = Translator.from_folder(folder), torch.Generator().manual_seed(seed)
        found = [translator.translate(sources, beam_size=5, length_penalty=PlainLength())]
        found += [
            translator.sample(sources, generator=rng, logits_processors=[SHARPER]) for _ in range(drawn)
        ]
        minutes = (time.monotonic() - begun) / 60
        known = {"weights": weights, "drawn": drawn, "minutes": minutes, "translations": found}
        write_together(folder, {file.name: json.dumps(known, ensure_ascii=False).encode()})
    return known["translations"], known["minutes"]


def diversified(corpus: Corpus, forward: list[list[str]], backward: list[list[str]]) -> Corpus:
    """Return the corpus with more training pairs: each source and target as the teachers put it, once.

    That is the data diversification of Nguyen et al. (2020), with several translations of a target.
    """
    pairs = corpus.splits["train"]
    sources, targets = zip(*pairs, strict=True)
    more = [pair for found in forward for pair in zip(sources, found, strict=True)]
    more += [pair for found in backward for pair in zip(found, targets, strict=True)]
    there = set(pairs)
    usable, _ = keep_usable([pair for pair in dict.fromkeys(more) if pair not in there])
    return dataclasses.replace(corpus, splits=corpus.splits | {"train": pairs + usable})


def train(corpus: Corpus, out: Path, *, seed: int) -> dict[str, object]:
    """Train the four models into folders in `out`; return what to record of them."""
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
    shared, forward, backward = (trained(folder) for folder in (both, *(each.folder for each in teachers)))
    teaching = max(forward + translating[0], shared + backward + translating[1])  # side by side
    return {
        "bidirectional": describe_training(BOTH_WAYS, corpus, both),
        **{each.folder.name: describe_training(each.recipe, each.corpus, each.folder) for each in teachers},
        "translating_minutes": [round(each, 1) for each in translating],
        "student": describe_training(STUDENT, more, student),
        "minutes": round(teaching + trained(student), 1),
    }


def copy(training: Path, folder: Path) -> None:
    """Make `folder` a copy of a training, to go on with it, unless it is there."""
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}.copying")
        shutil.copytree(training, unfinished, dirs_exist_ok=True)
        unfinished.rename(folder)


def trained(folder: Path) -> float:
    """Return how many minutes the training in `folder` took, validation included."""
    return read_progress(folder).seconds / 60


def judge(folder: Path, plain: Corpus, splits: list[str]) -> dict[str, dict[str, dict[str, object]]]:
    """Return the BLEU of the model in `folder` by both measures; it reads what is prepared.

    The cased one is of its translations with the capitals of Moses' recaser.
    """
    recase = Recaser((target for _, target in plain.splits["train"]), LANGUAGES[1])
    measures = {
        "multi30k": multi30k_bleu_of_prepared,
        "cased 13a": lambda found, references: sacrebleu_13a([*map(recase, found)], references),
    }
    held_out = {  # what the model reads, and what people wrote
        split: [(moses_lowercase(source, LANGUAGES[0]), target) for source, target in plain.splits[split]]
        for split in splits
    }
    return beam_scores(Translator.from_folder(folder), held_out, measures, length_penalty=PlainLength())


def main() -> None:
    """Train, score, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpus")
    parser.add_argument("--out", type=Path, required=True, help="folder for the training")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of the processor (%(default)s)")
    parser.add_argument("--test", action="store_true", help="translate the test sets, too")
    options = parser.parse_args()
    describe_code()
    torch.set_num_threads(options.threads)
    plain = load_corpus("multi30k", folder=options.data)
    splits = {name: prepared(plain.splits[name]) for name in ("train", "val")}
    results = train(dataclasses.replace(plain, splits=splits), options.out, seed=options.seed)
    judged = [split for split in plain.splits if split == "val" or (options.test and split != "train")]
    results["scores"] = judge(options.out / "student", plain, judged)
    place = RESULTS if options.test else options.out  # no table is made of half a result
    write_result(place / f"multi30k_seed{options.seed}.json", seed=options.seed, results=results)


if __name__ == "__main__":
    main()
