"""How good does a model get with 1,000, 5,000, 20,000, and 100,000 sentence pairs?

    python -m benchmarks.own_sentences --data DIR --out FOLDER

Models are trained from scratch on the first pairs of Tatoeba. On the first 1,000 and 5,000 captions of
Multi30k, they are trained from scratch and by fine-tuning the shipped model, which was trained on Tatoeba and
so cannot be tested there. Models from scratch are pre-norm, except for one: on 5,000 pairs or fewer, models
with post-norm hardly use the source. The minutes are CPU time on one thread, so other programs do not count.
Models that the result has are left out, so one that is deleted there is measured again; each has the commit
of its run.
"""

import dataclasses
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from annotated_transformer.book.chapters.train_and_translate.corpus_sizes import UNTOUCHED
from annotated_transformer.book.results import read_result
from annotated_transformer.checkpointing.checkpoint import pretrained_folder
from annotated_transformer.config import TINY
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.evaluation.bleu import sacrebleu_13a
from annotated_transformer.text.corpus import Corpus, load_corpus
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import Recipe, train_from_recipe
from benchmarks.quality import beam_scores, describe_training, first_pairs
from benchmarks.record import RESULTS, begin, data_parser, describe_code, write_result

TEXTS = 1000  # test sentences


@dataclass(frozen=True, kw_only=True)
class Case:
    """One model: its corpus, the number of training pairs, and options that suit this number."""

    corpus: str
    pairs: int
    steps: int
    vocab_size: int = 4000
    norm: Literal["post", "pre"] = "pre"
    dropout: float = 0.1
    max_lr: float = 3e-3
    fine_tuned: bool = False

    @property
    def name(self) -> str:
        """Return the name of the model's folder."""
        kind = "_fine_tuned" if self.fine_tuned else "_post" if self.norm == "post" else ""
        return f"{self.corpus}_{self.pairs}{kind}"

    def recipe(self) -> Recipe:
        """Return the recipe that the `train` command uses with these options and `--average 5`."""
        training = TrainingConfig(
            steps=self.steps, batch_tokens=2048, warmup_steps=200, max_lr=self.max_lr, fast=True
        )
        if self.fine_tuned:
            shape = dataclasses.replace(shipped().model.config, dropout=self.dropout)
        else:
            shape = dataclasses.replace(
                TINY, vocab_size=self.vocab_size, norm=self.norm, dropout=self.dropout
            )
        return Recipe(shape=shape, training=training, average=5)


CASES = [
    Case(corpus="tatoeba", pairs=1_000, steps=500, vocab_size=1000, dropout=0.3),
    Case(corpus="tatoeba", pairs=5_000, steps=1_000, vocab_size=2000, dropout=0.3),
    Case(corpus="multi30k", pairs=1_000, steps=500, vocab_size=1000, dropout=0.3),
    Case(corpus="multi30k", pairs=5_000, steps=1_000, vocab_size=2000, dropout=0.3),
    Case(corpus="multi30k", pairs=5_000, steps=1_000, vocab_size=2000, norm="post", dropout=0.3),
    Case(corpus="multi30k", pairs=1_000, steps=300, dropout=0.3, max_lr=1e-3, fine_tuned=True),
    Case(corpus="multi30k", pairs=5_000, steps=600, dropout=0.3, max_lr=1e-3, fine_tuned=True),
    Case(corpus="tatoeba", pairs=20_000, steps=2_500, dropout=0.2),
    Case(corpus="tatoeba", pairs=100_000, steps=5_000),
]


def shipped() -> Translator:
    """Return the model to fine-tune."""
    return Translator.from_pretrained("en-de")


def learn(case: Case, corpus: Corpus, folder: Path) -> float:
    """Train the model of `case`; return the CPU time in minutes."""
    start, begun = pretrained_folder("en-de") if case.fine_tuned else None, time.process_time()
    train_from_recipe(case.recipe(), corpus, folder, seed=0, start=start, log=partial(print, case.name))
    return (time.process_time() - begun) / 60


def main() -> None:
    """Train, score, and write the result."""
    parser = data_parser(__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the models")
    options = begin(parser)
    path, code = RESULTS / "own_sentences.json", describe_code()
    results: dict[str, Any] = read_result(path.stem) if path.exists() else {}
    for case in CASES:
        if case.name in results:
            continue
        whole = load_corpus(case.corpus, folder=options.data)
        corpus, folder = first_pairs(whole, {"train": case.pairs}), options.out / case.name
        minutes = learn(case, corpus, folder)
        test = {"test": whole.splits["test" if "test" in whole.splits else "test_2016_flickr"][:TEXTS]}
        scores = beam_scores(Translator.from_folder(folder), test, {"cased 13a": sacrebleu_13a})
        training = describe_training(case.recipe(), corpus, folder) | {"cpu_minutes": round(minutes, 1)}
        results[case.name] = {**code, "training": training, "scores": scores["cased 13a"]}
        write_result(path, seed=0, results=results)
    if UNTOUCHED in results:
        return
    captions = load_corpus("multi30k", folder=options.data).splits["test_2016_flickr"][:TEXTS]
    untouched = beam_scores(shipped(), {"test": captions}, {"cased 13a": sacrebleu_13a})
    results[UNTOUCHED] = {**code, "scores": untouched["cased 13a"]}
    write_result(path, seed=0, results=results)


if __name__ == "__main__":
    main()
