"""Train a tiny model on Multi30k, English to German, and score it as published models are.

    python -m benchmarks.multi30k --data DIR --out FOLDER --seed 0 --test

Give a folder that does not exist yet; a run that was stopped goes on with the same command. The
defaults were chosen on the validation set: see `README.md`, beside this file. The test sets are
translated only where `--test` says so.
"""

import argparse
import dataclasses
from argparse import RawDescriptionHelpFormatter
from pathlib import Path

import torch
from tqdm import tqdm

from annotated_transformer.config import TINY
from annotated_transformer.decoding.length_penalty import PlainLength
from annotated_transformer.decoding.scoring import multi30k_bleu_of_prepared, sacrebleu_13a
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.text.cleaning import SentencePair
from annotated_transformer.text.corpus import Corpus, load_corpus
from annotated_transformer.text.moses import Recaser, moses_lowercase
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import Recipe, follow
from benchmarks.quality import beam_scores, describe_training
from benchmarks.record import RESULTS, describe_code, write_result

LANGUAGES = ("en", "de")


def prepared(pairs: list[SentencePair]) -> list[SentencePair]:
    """Return the pairs as Moses prepares them: lowercased, with blanks between tokens."""
    source, target = ([moses_lowercase(pair[side], LANGUAGES[side]) for pair in pairs] for side in (0, 1))
    return list(zip(source, target, strict=True))


def add_recipe_options(parser: argparse.ArgumentParser) -> None:
    """Add what the recipe may be tried with."""
    parser.add_argument("--steps", type=int, default=10_000, help="updates of the weights (%(default)s)")
    parser.add_argument("--vocab-size", type=int, default=6000, help="(%(default)s)")
    parser.add_argument("--d-ff", type=int, default=512, help="(%(default)s)")
    parser.add_argument("--dropout", type=float, default=0.25, help="(%(default)s)")
    parser.add_argument("--batch-tokens", type=int, default=4096, help="(%(default)s)")
    parser.add_argument("--warmup-steps", type=int, default=1000, help="(%(default)s)")
    parser.add_argument("--peak", type=float, default=3e-3, help="highest learning rate (%(default)s)")
    parser.add_argument("--label-smoothing", type=float, default=0.1, help="(%(default)s)")
    parser.add_argument("--bpe-dropout", type=float, default=0.0, help="(%(default)s)")
    parser.add_argument("--both-ways", type=int, default=15, help="first epochs (%(default)s)")
    parser.add_argument("--average", type=int, default=10, help="epochs (%(default)s)")


def recipe(options: argparse.Namespace) -> Recipe:
    """Return the recipe that the options ask for."""
    training = TrainingConfig(
        steps=options.steps,
        batch_tokens=options.batch_tokens,
        warmup_steps=options.warmup_steps,
        peak=options.peak,
        label_smoothing=options.label_smoothing,
        bf16=True,
        fast=True,
    )
    shape = dataclasses.replace(
        TINY, vocab_size=options.vocab_size, d_ff=options.d_ff, dropout=options.dropout
    )
    return Recipe(
        shape=shape,
        training=training,
        bpe_dropout=options.bpe_dropout,
        both_ways=options.both_ways,
        average=options.average,
    )


def judge(folder: Path, plain: Corpus, splits: list[str], *, alpha: float) -> dict[str, object]:
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
    translator, penalty = Translator.from_folder(folder), PlainLength(alpha)
    scores = beam_scores(translator, held_out, measures, length_penalty=penalty)
    return {"alpha": alpha, "scores": scores}


def main() -> None:
    """Train, score, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpus")
    parser.add_argument("--out", type=Path, required=True, help="folder for the training")
    parser.add_argument("--name", default="multi30k", help="of the result file (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of the processor (%(default)s)")
    parser.add_argument("--alpha", type=float, default=1.0, help="of `PlainLength` (%(default)s)")
    parser.add_argument("--test", action="store_true", help="translate the test sets, too")
    add_recipe_options(parser)
    options = parser.parse_args()
    describe_code()
    torch.set_num_threads(options.threads)
    plain, asked = load_corpus("multi30k", folder=options.data), recipe(options)
    corpus = dataclasses.replace(
        plain, splits={name: prepared(plain.splits[name]) for name in ("train", "val")}
    )
    follow(asked, corpus, options.out, seed=options.seed, say=lambda report: tqdm.write(str(report)))
    results = describe_training(asked, corpus, options.out)
    splits = [split for split in plain.splits if split == "val" or (options.test and split != "train")]
    results |= judge(options.out, plain, splits, alpha=options.alpha)
    write_result(RESULTS / f"{options.name}_seed{options.seed}.json", seed=options.seed, results=results)


if __name__ == "__main__":
    main()
