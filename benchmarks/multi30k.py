"""Train a tiny model on Multi30k, English to German, and score it as published models are.

    python -m benchmarks.multi30k --data DIR --out FOLDER --seed 0

Give a folder that does not exist yet; a run that was stopped goes on with the same command.
The defaults are those of a first trial. What replaces them is chosen on the validation set: the test
sets are translated only where `--test` says so.
"""

import argparse
import dataclasses
from argparse import RawDescriptionHelpFormatter
from pathlib import Path

import torch

from annotated_transformer.config import TINY
from annotated_transformer.decoding.length_penalty import PlainLength
from annotated_transformer.decoding.scoring import multi30k_bleu, sacrebleu_13a
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.text.corpus import load_corpus
from annotated_transformer.training.config import TrainingConfig
from benchmarks.recipe import Recipe, follow
from benchmarks.record import RESULTS, describe_code, write_result


def main() -> None:
    """Train, score, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpus")
    parser.add_argument("--out", type=Path, required=True, help="folder for the training")
    parser.add_argument("--name", default="multi30k", help="of the result file (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="of the processor (%(default)s)")
    parser.add_argument("--steps", type=int, default=9500, help="updates of the weights (%(default)s)")
    parser.add_argument("--vocab-size", type=int, default=6000, help="(%(default)s)")
    parser.add_argument("--d-ff", type=int, default=512, help="(%(default)s)")
    parser.add_argument("--dropout", type=float, default=0.3, help="(%(default)s)")
    parser.add_argument("--batch-tokens", type=int, default=4096, help="(%(default)s)")
    parser.add_argument("--warmup-steps", type=int, default=2000, help="(%(default)s)")
    parser.add_argument("--peak", type=float, default=3e-3, help="highest learning rate (%(default)s)")
    parser.add_argument("--r-drop", type=float, default=0.0, help="(%(default)s)")
    parser.add_argument("--bpe-dropout", type=float, default=0.03, help="(%(default)s)")
    parser.add_argument("--average", type=int, default=10, help="epochs (%(default)s)")
    parser.add_argument("--test", action="store_true", help="translate the test sets, too")
    options = parser.parse_args()
    describe_code()
    torch.set_num_threads(options.threads)
    recipe = Recipe(
        shape=dataclasses.replace(TINY, d_ff=options.d_ff, dropout=options.dropout),
        vocab_size=options.vocab_size,
        training=TrainingConfig(
            steps=options.steps,
            batch_tokens=options.batch_tokens,
            warmup_steps=options.warmup_steps,
            peak=options.peak,
            r_drop=options.r_drop,
            bf16=True,
            fast=True,
        ),
        average=options.average,
        bpe_dropout=options.bpe_dropout,
    )
    corpus = load_corpus("multi30k", folder=options.data)
    results = follow(recipe, corpus, seed=options.seed, folder=options.out)
    translator = Translator.from_folder(options.out)
    splits = [split for split in corpus.splits if split == "val" or (options.test and split != "train")]
    scores = {}
    for split in splits:
        texts, references = map(list, zip(*corpus.splits[split], strict=True))
        for beam in (1, 5):
            found = translator.translate(texts, beam_size=beam, length_penalty=PlainLength())
            both = (multi30k_bleu(found, references), sacrebleu_13a(found, references))
            scores[f"{split}, beam {beam}"] = [dataclasses.asdict(score) for score in both]
            print(split, beam, *(f"{score.bleu:.2f} ({score.signature})" for score in both), flush=True)
    results |= {"scores": scores}
    write_result(RESULTS / f"{options.name}_seed{options.seed}.json", seed=options.seed, results=results)


if __name__ == "__main__":
    main()
