"""Train a tiny model on Multi30k, English to German, and score it as published models are.

    python -m benchmarks.multi30k --data DIR --out FOLDER --seed 0 --test

In three steps: a teacher learns to translate both ways; it translates the training sentences, each side
into the other; and from its weights a student goes on, one way, with these pairs as well. Give a folder
that does not exist yet; a run that was stopped goes on with the same command. The recipes were chosen on
the validation set: see `README.md`, beside this file. The test sets are translated only where `--test`
says so.
"""

import argparse
import dataclasses
import json
import multiprocessing
import time
from argparse import RawDescriptionHelpFormatter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
from tqdm import tqdm

from annotated_transformer import checkpoint
from annotated_transformer.config import TINY
from annotated_transformer.decoding.length_penalty import PlainLength
from annotated_transformer.decoding.scoring import multi30k_bleu_of_prepared, sacrebleu_13a
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.files import digest_tensors, write_together
from annotated_transformer.text.cleaning import SentencePair, keep_usable
from annotated_transformer.text.corpus import Corpus, load_corpus
from annotated_transformer.text.moses import Recaser, moses_lowercase
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import Recipe, follow
from annotated_transformer.training.state_file import read_counters
from benchmarks.quality import beam_scores, describe_training
from benchmarks.record import RESULTS, describe_code, write_result

LANGUAGES = ("en", "de")
TEACHER = Recipe(
    shape=dataclasses.replace(TINY, dropout=0.2),
    training=TrainingConfig(
        steps=5400,
        batch_tokens=4096,
        warmup_steps=1000,
        peak=3e-3,
        label_smoothing=0.1,
        bf16=True,
        fast=True,
    ),
    both_ways=5400,  # all epochs: none has less than one step
    average=5,
)
STUDENT = Recipe(
    shape=TEACHER.shape,
    training=dataclasses.replace(TEACHER.training, steps=6000, warmup_steps=300, peak=1.5e-3),
    average=5,
)


def prepared(pairs: list[SentencePair]) -> list[SentencePair]:
    """Return the pairs as Moses prepares them: lowercased, with blanks between tokens."""
    source, target = ([moses_lowercase(pair[side], LANGUAGES[side]) for pair in pairs] for side in (0, 1))
    return list(zip(source, target, strict=True))


def diversified(corpus: Corpus, teacher: Path, out: Path) -> tuple[Corpus, float]:
    """Return the corpus with its training pairs twice more, each with one side as `teacher` puts it.

    That is the data diversification of Nguyen et al. (2020). The translations are kept in `out`,
    with the minutes that they took, which are returned as well.
    """
    file, weights = out / "translations.json", digest_tensors(checkpoint.load(teacher)[0].state_dict())
    pairs = corpus.splits["train"]
    sources, targets = map(list, zip(*pairs, strict=True))
    known = json.loads(file.read_text("utf-8")) if file.exists() else {}
    if known.get("weights") != weights:
        begun = time.monotonic()
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            forward, backward = pool.map(translated, (teacher, teacher), (sources, targets))
        minutes = (time.monotonic() - begun) / 60
        known = {"weights": weights, "minutes": minutes, "forward": forward, "backward": backward}
        write_together(out, {file.name: json.dumps(known, ensure_ascii=False).encode()})
    more = [*zip(sources, known["forward"], strict=True), *zip(known["backward"], targets, strict=True)]
    there = set(pairs)
    usable, _ = keep_usable([pair for pair in more if pair not in there])
    return dataclasses.replace(corpus, splits=corpus.splits | {"train": pairs + usable}), known["minutes"]


def translated(folder: Path, texts: list[str]) -> list[str]:
    """Return what the model in `folder` makes of the texts, in one thread: that is quickest."""
    torch.set_num_threads(1)
    return Translator.from_folder(folder).translate(texts, beam_size=5, length_penalty=PlainLength())


def train(corpus: Corpus, out: Path, *, seed: int) -> dict[str, object]:
    """Train the teacher and the student into folders in `out`; return what to record of it."""
    teacher, student = out / "teacher", out / "student"
    follow(TEACHER, corpus, teacher, seed=seed, say=_say)
    more, minutes = diversified(corpus, teacher, out)
    follow(STUDENT, more, student, seed=seed, start=teacher, say=_say)
    training = sum(read_counters(folder).seconds for folder in (teacher, student)) / 60
    return {
        "teacher": describe_training(TEACHER, corpus, teacher),
        "translating_minutes": round(minutes, 1),
        "student": describe_training(STUDENT, more, student),
        "minutes": round(training + minutes, 1),  # of all, validation included
    }


def _say(report: object) -> None:
    tqdm.write(str(report))


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
    write_result(RESULTS / f"multi30k_seed{options.seed}.json", seed=options.seed, results=results)


if __name__ == "__main__":
    main()
