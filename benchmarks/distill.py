"""Train a better model of the shipped size, with larger models as its teachers (Kim and Rush, 2016).

    python -m benchmarks.distill --data DIR --out FOLDER --device cuda --teachers 3
    python -m benchmarks.distill --data DIR --out FOLDER --device cuda --teachers 3 --source de --target en

There are four steps. Teachers with the layers and widths of `BASE` learn from all training pairs of Tatoeba,
each with a seed of its own. Together, they translate the training sentences with a beam of 5, and those of
`--monolingual FILE`, one per line. A student of the shipped shape trains on the real pairs and on these
translations: from random weights or, with `--further`, from the shipped ones. Then it is fine-tuned on the
real pairs.

Give each direction and each choice of options a folder of its own; an interrupted run resumes with the same
command. A complete run is added to `results/tries_distill.json`, with its validation BLEU; it does not
translate the test set. Choose a run by that, and repeat its command with `--chosen`, which writes
`results/shipped_en-de.json`. Then `benchmarks.ship --model FOLDER/tuned` takes the model.
Nobody has run this at full size yet.
"""

import argparse
import dataclasses
from argparse import RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.checkpointing.files import fingerprint
from annotated_transformer.config import BASE
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.evaluation.bleu import sacrebleu_13a
from annotated_transformer.text.corpus import Corpus, load_corpus
from annotated_transformer.text.sentence_pairs import SentencePair
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import Recipe
from benchmarks.ensemble import ensemble
from benchmarks.monolingual import read_monolingual
from benchmarks.quality import describe_training
from benchmarks.record import RESULTS, describe_code, write_result
from benchmarks.shipped_model import SHAPE, UPDATES, before
from benchmarks.teaching import cached, learn, weights_digest, with_pairs
from benchmarks.tries import add_try

BEAM = 5
PART = 10_000  # sentences that are translated between two saves
TRAINING = TrainingConfig(batch_tokens=4096, bf16=True)
TEACHER = Recipe(
    shape=dataclasses.replace(BASE, vocab_size=8000, max_length=256, dropout=0.3),
    training=dataclasses.replace(TRAINING, steps=12_000, batch_tokens=8192, warmup_steps=4000, max_lr=7e-4),
    average=5,
    keep="best",
)
STUDENT = Recipe(
    shape=SHAPE,
    training=dataclasses.replace(TRAINING, steps=30_000, warmup_steps=1000, max_lr=2.5e-3),
    average=5,
)
FURTHER = dataclasses.replace(
    STUDENT, training=dataclasses.replace(STUDENT.training, warmup_steps=300, max_lr=1.5e-3)
)
TUNING = dataclasses.replace(
    STUDENT, training=dataclasses.replace(TRAINING, steps=2400, warmup_steps=300, max_lr=5e-4)
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What distinguishes a run from others, besides its corpus, its monolingual sentences, and its seed.

    Attributes:
        teachers: The number of teachers.
        teacher: Their recipe; each has a seed of its own.
        student: The recipe of the student, on real and translated pairs.
        tuning: The recipe of its fine-tuning, on real pairs.
    """

    teachers: int
    teacher: Recipe
    student: Recipe
    tuning: Recipe

    def __post_init__(self) -> None:
        """Refuse a student without a teacher."""
        if self.teachers < 1:
            raise ValueError(f"{self.teachers} teachers translate nothing; give 1 or more")


def translations_of(
    texts: Sequence[str], teachers: Sequence[Path], folder: Path, *, device: str
) -> tuple[list[str], float]:
    """Return the teachers' common translations, which are cached in `folder`, and the minutes they took."""
    together = cache(partial(ensemble, teachers, device=device))  # loaded only if a part is missing

    def translate(part: list[str]) -> list[str]:
        return together().translate(part, beam_size=BEAM)

    translations: list[str] = []
    minutes, weights = 0.0, [*map(weights_digest, teachers)]
    for number, start in enumerate(range(0, len(texts), PART)):
        part = list(texts[start : start + PART])
        key: dict[str, object] = {"weights": weights, "sources": fingerprint(part)}
        found, took = cached(folder / f"{number:03}.json", key, partial(translate, part))
        translations, minutes = translations + found, minutes + took
        print(f"translated {len(translations):,} of {len(texts):,} sentences", flush=True)
    return translations, minutes


def bleu(translator: Translator, pairs: list[SentencePair]) -> float:
    """Return the BLEU of the translator with a beam of 5."""
    sources, references = map(list, zip(*pairs, strict=True))
    return round(sacrebleu_13a(translator.translate(sources, beam_size=BEAM), references).bleu, 2)


def distill(
    settings: Settings,
    corpus: Corpus,
    monolingual: Sequence[str],
    out: Path,
    *,
    seed: int,
    start: Path | None = None,
    device: str = "cpu",
) -> dict[str, Any]:
    """Train all models in subfolders of `out`, the last one in `tuned`; return what to record about it."""
    teachers = [out / f"teacher-{number}" for number in range(settings.teachers)]
    student, tuned = out / "student", out / "tuned"
    for number, folder in enumerate(teachers):
        learn(settings.teacher, corpus, folder, seed=seed + number, device=device)
    texts = list(dict.fromkeys([*(source for source, _ in corpus.splits["train"]), *monolingual]))
    translations, minutes = translations_of(texts, teachers, out / "translations", device=device)
    more = with_pairs(corpus, zip(texts, translations, strict=True))
    learn(settings.student, more, student, seed=seed, start=start, device=device)
    learn(settings.tuning, corpus, tuned, seed=seed, start=student, device=device)
    alone = {folder.name: Translator.from_folder(folder, device=device) for folder in (student, tuned)}
    translators = {"teachers": ensemble(teachers, device=device)} | alone
    distillation = {
        "teachers": [describe_training(settings.teacher, corpus, folder) for folder in teachers],
        "translated": len(texts),
        "minutes": round(minutes, 1),
        "student": describe_training(settings.student, more, student),
        "validation": {name: bleu(each, corpus.splits["val"]) for name, each in translators.items()},
    }
    return describe_training(settings.tuning, corpus, tuned) | {"distillation": distillation}


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    add, shape = parser.add_argument, TEACHER.shape
    add("--data", type=Path, required=True, help="folder of the corpus")
    add("--out", type=Path, required=True, help="folder for all models of this run")
    add("--source", choices=UPDATES, default="en", help="translate from (%(default)s)")
    add("--target", choices=UPDATES, default="de", help="translate into (%(default)s)")
    add("--teachers", type=int, default=1, help="number of teachers (%(default)s)")
    add("--vocab-size", type=int, default=shape.vocab_size, help="of a teacher (%(default)s)")
    add("--dropout", type=float, default=shape.dropout, help="of a teacher (%(default)s)")
    add("--monolingual", type=Path, help="file of more sentences to translate, one per line")
    add("--further", action="store_true", help="start the student from the shipped model")
    add("--chosen", action="store_true", help="write the result file that benchmarks.ship reads")
    add("--seed", type=int, default=0, help="(%(default)s)")
    add("--device", choices=("cpu", "cuda"), default="cpu", help="where to train (%(default)s)")
    add("--threads", type=int, default=2, help="number of CPU threads (%(default)s)")
    return parser.parse_args()


def chosen_settings(options: argparse.Namespace) -> Settings:
    """Return the settings that the options ask for."""
    shape = dataclasses.replace(TEACHER.shape, vocab_size=options.vocab_size, dropout=options.dropout)
    return Settings(
        teachers=options.teachers,
        teacher=dataclasses.replace(TEACHER, shape=shape),
        student=FURTHER if options.further else STUDENT,
        tuning=TUNING,
    )


def main() -> None:
    """Train all models, and write the result and the try."""
    options = parse()
    describe_code()
    torch.set_num_threads(options.threads)
    settings, name = chosen_settings(options), f"{options.source}-{options.target}"
    corpus = load_corpus("tatoeba", folder=options.data, source=options.source, target=options.target)
    more = read_monolingual(options.monolingual, corpus) if options.monolingual else []
    start, shipped = before(name) if options.further else (None, {})
    seed, device = options.seed, options.device
    results = distill(settings, corpus, more, options.out, seed=seed, start=start, device=device)
    validation = results["distillation"]["validation"]
    print(validation)
    asked = {"direction": name, "monolingual": len(more), "further": options.further}
    add_try(
        RESULTS / "tries_distill.json",
        settings=asked | dataclasses.asdict(settings),
        seed=seed,
        weights=weights_digest(options.out / "tuned"),
        validation=validation,
        device=device,
    )
    place = RESULTS if options.chosen else options.out  # the committed one belongs to the shipped model
    write_result(place / f"shipped_{name}.json", seed=seed, results=results | shipped, device=device)


if __name__ == "__main__":
    main()
