"""Sentence pairs in their splits: section 5.1 of the paper, the chapter on training."""

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from annotated_transformer.messages import Message
from annotated_transformer.text.cleaning import clean
from annotated_transformer.text.lines import list_problems, read_lines
from annotated_transformer.text.published_corpora import SOURCES, refuse_other_files
from annotated_transformer.text.sentence_pairs import (
    SentencePair,
    Splits,
    find_file,
    keep_usable,
    read_pairs,
    refuse_one_language,
    split_by_sentence,
    split_files,
    split_names,
    split_paths,
)
from annotated_transformer.text.toy.pairs import toy_pairs

DATA_VARIABLE = "ANNOTATED_TRANSFORMER_DATA"
TOY_PAIRS = 20_000
FEW = 1000  # pairs to train on: the fewest in the guide's table of corpus sizes
VALIDATION = ("val", "valid", "validation", "dev")  # names of the validation split; the first one counts
NO_VALIDATION = f"There is no validation loss, because no split is called {' or '.join(VALIDATION)}."
OWN_SHARE, OWN_PAIRS = 0.05, 1000  # of your own pairs, for each of val and test; 1000 is a rough maximum


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Sentence pairs, (source, target), in splits.

    Attributes:
        name: The name given to `load_corpus`.
        splits: The pairs of `train`, and of the validation and test splits if there are any.
        skipped: How many pairs were left out, by reason.
        terms: The license and attribution of the pairs; print them.
        cleaned: Whether the sentences went through `clean`. If so, texts to translate must go
            through it, too: give the model a `Tokenizer.cleaning`.
        note: How `load_corpus` made the splits of your own files, or why it could not; `""` if the
            files are the splits.
        files: The source and the target file of each split, if the pairs are lines of files.
    """

    name: str
    splits: Splits
    skipped: dict[str, int]
    terms: str
    cleaned: bool = False
    note: str = ""
    files: tuple[tuple[Path, Path], ...] = ()

    @property
    def validation(self) -> str | None:
        """The split on which the validation loss is computed, if there is one."""
        return next((name for name in VALIDATION if name in self.splits), None)

    def summary(self) -> str:
        """Return lines with the sizes of the splits, numbers of pairs left out, notes, and the terms."""
        sizes = ", ".join(f"{split} {len(pairs)}" for split, pairs in self.splits.items())
        skipped = ", ".join(f"{number} {reason}" for reason, number in self.skipped.items())
        train = len(self.splits.get("train", []))
        few = (
            f"There are only {train} pairs to train on. A model can memorize these without learning to "
            f"translate other sentences; give more, or start from a trained model."
        )
        lines = [
            f"{self.name}: {sizes} pairs; left out: {skipped}",
            few * (train < FEW),
            self.note,
            self.terms,
        ]
        return "\n".join(line for line in lines if line)

    def reversed(self) -> "Corpus":
        """Return the same pairs with source and target exchanged."""
        splits = {
            split: [(target, source) for source, target in pairs] for split, pairs in self.splits.items()
        }
        files = tuple((target, source) for source, target in self.files)
        return dataclasses.replace(self, splits=splits, files=files)

    def locate(self, pair: SentencePair) -> str:
        """Return the files and the line of a pair, or, if it is not in files, the beginning of its source."""
        for source, target in self.files:
            lines = zip(read_lines(source), read_lines(target), strict=False)
            for number, (src, tgt) in enumerate(lines, start=1):
                if (src.strip(), tgt.strip()) == pair:
                    return f"{source} and {target.name}, line {number}"
        return f"the pair {pair[0][:40]!r}…"


def load_corpus(
    name: str, *, folder: str | Path | None = None, source: str = "en", target: str = "de"
) -> Corpus:
    """Return a corpus by its name.

    - `"toy"`: sentences of our own toy language; needs no folder.
    - `"multi30k"`: image captions, in the published splits; only the published files are accepted.
    - `"tatoeba"`: short everyday sentences, cleaned.
    - `"files"`: your own files, `{split}.{language}` or `{split}.{language}.gz`; the split `train` is
      required, and `val`, which may also be called `valid`, `validation`, or `dev`, is for validation.

    The toy language and Tatoeba are split by `split_by_sentence`. So are your own files if `train` is
    their only split: about 5 % of the pairs, at most about 1,000, go to each of `val` and `test`, the
    same ones each time and in both directions. Pairs that are probably not translations (`keep_usable`)
    are counted and left out: before a corpus is split here, and otherwise from `train` only.

    Args:
        name: One of these names.
        folder: The folder with the files, or a folder that has them in a folder called `name`.
            The default is the environment variable ANNOTATED_TRANSFORMER_DATA.
        source: Language to translate from.
        target: Language to translate into.

    Raises:
        ValueError: If the name or a language is unknown, no folder is given, or a file has the
            wrong content.
        FileNotFoundError: If a file is missing; the message lists the files that exist.
    """
    if not isinstance(name, str) or name not in READERS:
        raise ValueError(f"there is no corpus {name!r}; choose from {', '.join(READERS)}")
    if name != "files" and {source, target} != {"en", "de"}:
        message = "the corpus {} has en and de, not {} and {}; give {source}, {target}, or the reverse"
        raise ValueError(Message(message, name, source, target, source="en", target="de"))
    refuse_one_language(source, target)
    place = Path() if name == "toy" else corpus_folder(name, folder)
    first, second = (source, target) if name == "files" else ("en", "de")
    if name == "multi30k":
        refuse_other_files(name, split_files(place, first, second))
    corpus = Corpus(
        name=name,
        terms=TERMS[name],
        cleaned=name == "tatoeba",
        **READERS[name](place, first, second)._asdict(),
    )
    return corpus if source == first else corpus.reversed()


def corpus_folder(name: str, folder: str | Path | None = None) -> Path:
    """Return the folder of the corpus `name`: `folder`, or the folder called `name` inside it.

    The default of `folder` is the environment variable ANNOTATED_TRANSFORMER_DATA.

    Raises:
        ValueError: If neither is given.
    """
    base = folder or os.environ.get(DATA_VARIABLE)
    if not base:
        fetch = f"; annotated-transformer download {name} downloads it" if name in SOURCES else ""
        message = "the folder of the corpus {} is unknown; give {folder}, or set {} to it{}"
        raise ValueError(Message(message, name, DATA_VARIABLE, fetch))
    inside = Path(base) / name
    return inside if inside.is_dir() else Path(base)


class _Reading(NamedTuple):
    """The result of a reader: the fields of a `Corpus` of the same names."""

    splits: Splits
    skipped: dict[str, int]
    note: str = ""
    files: tuple[tuple[Path, Path], ...] = ()


def _toy(folder: Path, source: str, target: str) -> _Reading:
    pairs, skipped = keep_usable([(pair.source, pair.target) for pair in toy_pairs(TOY_PAIRS)])
    return _Reading(split_by_sentence(pairs, share=0.05), skipped)


def _tatoeba(folder: Path, source: str, target: str) -> _Reading:
    path = find_file(folder, "deu-eng.zip", "deu.txt")
    pairs, problems = [], []
    for number, line in enumerate(read_lines(path, "deu.txt"), start=1):
        columns = line.split("\t") if line.strip() else ["", ""]
        if len(columns) not in (2, 3):  # later releases have a third, with the authors
            problems.append(f"{path}, line {number} has {len(columns)} columns")
            continue
        pairs.append((clean(columns[0]), clean(columns[1])))
    if problems:
        way_out = (
            "give English, German and optionally a third column, separated by tabs, or download it again"
        )
        raise ValueError(list_problems(problems, way_out))
    pairs, skipped = keep_usable(pairs)
    return _Reading(split_by_sentence(pairs), skipped)


def _parallel_files(folder: Path, source: str, target: str) -> _Reading:
    names = list(dict.fromkeys(["train", *split_names(folder, source, target)]))
    splits = {name: read_pairs(folder, name, source=source, target=target) for name in names}
    splits["train"], skipped = keep_usable(splits["train"])
    files = tuple(split_paths(folder, name, source, target) for name in names)
    return _Reading(splits, skipped, files=files)


def _own_files(folder: Path, source: str, target: str) -> _Reading:
    """Read the user's files, and split them if `train` is their only split."""
    if split_names(folder, source, target) != ["train"]:
        reading = _parallel_files(folder, source, target)
        found = [name for name in VALIDATION if name in reading.splits]
        note = f"The validation loss is that of {found[0]}." if found else NO_VALIDATION
        return reading._replace(note="" if found == ["val"] else note)
    one, other = sorted((source, target))  # the splits of both directions are the same
    reading = _parallel_files(folder, one, other)
    pairs = reading.splits["train"]
    try:
        splits = split_by_sentence(pairs, share=min(OWN_SHARE, OWN_PAIRS / max(len(pairs), 1)))
        note = (
            "There are only train files, so val and test were split off with a fixed seed, the same pairs "
            "each time; no sentence is in two splits."
        )
    except ValueError:  # an empty split
        splits = {"train": pairs}
        note = "There are only train files, with too few different sentences to split off val and test."
    files = reading.files
    if one != source:
        splits = {split: [(tgt, src) for src, tgt in pairs] for split, pairs in splits.items()}
        files = tuple((target_file, source_file) for source_file, target_file in files)
    return _Reading(splits, reading.skipped, note, files)


READERS = {
    "toy": _toy,
    "multi30k": _parallel_files,
    "tatoeba": _tatoeba,
    "files": _own_files,
}
TERMS = {
    "toy": "Terms: none; generated by this package, without anyone else's text.",
    **{name: source.terms for name, source in SOURCES.items()},
    "files": "Terms: your own.",
}
