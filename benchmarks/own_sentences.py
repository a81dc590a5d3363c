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
from functools import partial
from typing import Any

from annotated_transformer import TINY, TrainingConfig, Translator, load_corpus
from annotated_transformer.book.chapters.train_and_translate.corpus_sizes import UNTOUCHED
from annotated_transformer.book.results import read_result
from annotated_transformer.checkpointing.checkpoint import pretrained_folder
from annotated_transformer.evaluation import sacrebleu_13a
from annotated_transformer.training import Recipe, train_from_recipe
from benchmarks import record
from benchmarks.quality import beam_scores, describe_training
from benchmarks.record import begin, describe_code, write_result

TEXTS = 1000  # test sentences
SHAPE = dataclasses.replace(TINY, vocab_size=2000, norm="pre", dropout=0.3)
SMALL, POST = dataclasses.replace(SHAPE, vocab_size=1000), dataclasses.replace(SHAPE, norm="post")
LARGE = dataclasses.replace(SHAPE, vocab_size=4000)
CASES = {  # corpus, pairs, and what is special; updates, and shape (None: that of the shipped model)
    "tatoeba_1000": (500, SMALL),
    "tatoeba_5000": (1_000, SHAPE),
    "multi30k_1000": (500, SMALL),
    "multi30k_5000": (1_000, SHAPE),
    "multi30k_5000_post": (1_000, POST),
    "multi30k_1000_fine_tuned": (300, None),
    "multi30k_5000_fine_tuned": (600, None),
    "tatoeba_20000": (2_500, dataclasses.replace(LARGE, dropout=0.2)),
    "tatoeba_100000": (5_000, dataclasses.replace(LARGE, dropout=0.1)),
}


def recipe_of(name: str, shipped: Translator) -> Recipe:
    """Return the recipe that the `train` command uses with these options and `--average 5`."""
    steps, shape = CASES[name]
    max_lr = 3e-3
    if shape is None:
        shape, max_lr = dataclasses.replace(shipped.model.config, dropout=0.3), 1e-3
    training = TrainingConfig(steps=steps, batch_tokens=2048, warmup_steps=200, max_lr=max_lr, fast=True)
    return Recipe(shape=shape, training=training, average=5)


def main() -> None:
    """Train, score, and write the result."""
    options = begin(__doc__, "data", "out")
    exists = (record.RESULTS / "own_sentences.json").exists()
    results: dict[str, Any] = read_result("own_sentences") if exists else {}
    shipped = Translator.from_pretrained("en-de")
    corpora = {name: load_corpus(name, folder=options.data) for name in ("tatoeba", "multi30k")}
    tests = {
        "tatoeba": {"test": corpora["tatoeba"].splits["test"][:TEXTS]},
        "multi30k": {"test": corpora["multi30k"].splits["test_2016_flickr"][:TEXTS]},
    }
    for name in [name for name in CASES if name not in results]:
        corpus_name, pairs, *_ = name.split("_")
        whole, folder = corpora[corpus_name].splits, options.out / name
        first = whole | {"train": whole["train"][: int(pairs)]}
        corpus = dataclasses.replace(corpora[corpus_name], splits=first)
        recipe = recipe_of(name, shipped)
        start = None if CASES[name][1] else pretrained_folder("en-de")
        begun = time.process_time()
        train_from_recipe(recipe, corpus, folder, seed=0, start=start, log=partial(print, name))
        minutes = round((time.process_time() - begun) / 60, 1)
        training = describe_training(recipe, corpus, folder) | {"cpu_minutes": minutes}
        translator = Translator.from_folder(folder)
        scores = beam_scores(translator, tests[corpus_name], {"cased 13a": sacrebleu_13a})
        results[name] = {**describe_code(), "training": training, "scores": scores["cased 13a"]}
        write_result("own_sentences", results)
    if UNTOUCHED not in results:
        untouched = beam_scores(shipped, tests["multi30k"], {"cased 13a": sacrebleu_13a})
        results[UNTOUCHED] = {**describe_code(), "scores": untouched["cased 13a"]}
        write_result("own_sentences", results)


if __name__ == "__main__":
    main()
