"""Sentence pairs in their splits: section 5.1 of the paper, the chapter on training."""

import dataclasses
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.text.cleaning import clean
from annotated_transformer.text.lines import list_problems, read_lines
from annotated_transformer.text.pair_files import PairFiles, TwoFiles
from annotated_transformer.text.published_corpora import MULTI30K, TATOEBA, Source, refuse_other_files
from annotated_transformer.text.sentence_pairs import (
    Languages,
    SentencePair,
    Splits,
    find_file,
    keep_usable,
    refuse_one_language,
    split_by_sentence,
    split_files,
    split_names,
    split_paths,
)

OWN_FILES = "files"  # the name of the corpus that consists of the user's files
DATA_VARIABLE = "ANNOTATED_TRANSFORMER_DATA"
TOY_PAIRS = 20_000
FEW = 1000  # pairs to train on: the fewest in the guide's table of corpus sizes
VALIDATION = ("val", "valid", "validation", "dev")  # names of the validation split; the first one counts
NO_VALIDATION = f"There is no validation loss, because no split is called {' or '.join(VALIDATION)}."
TATOEBA_FILES = ("deu-eng.zip", "deu.txt")  # one of them
OWN_SHARE, OWN_PAIRS = 0.05, 1000  # of your own pairs, for each of val and test; 1000 is a rough maximum


@refuses_other_kinds
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
        files: Where the pairs of each split are, if they are lines of files.
        languages: The language to translate from and the one to translate into, if they are known.
    """

    name: str
    splits: Splits
    skipped: dict[str, int]
    terms: str
    cleaned: bool = False
    note: str = ""
    files: tuple[PairFiles, ...] = ()
    languages: Languages | None = None

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
        splits = {split: _swap(pairs) for split, pairs in self.splits.items()}
        files = tuple(place.reversed() for place in self.files)
        languages = None if self.languages is None else Languages(*self.languages[::-1])
        return dataclasses.replace(self, splits=splits, files=files, languages=languages)

    def locate(self, pair: SentencePair) -> str:
        """Return the files and the line of a pair, or, if it is not in files, the beginning of its source."""
        places = (files.locate(pair) for files in self.files)
        return next(filter(None, places), f"the pair {pair[0][:40]!r}…")


@refuses_other_kinds
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
    if name not in CORPORA:
        raise ValueError(f"there is no corpus {name!r}; choose from {', '.join(CORPORA)}")
    known = CORPORA[name]
    first, second = known.languages or (source, target)
    if {source, target} != {first, second}:
        raise ValueError(
            f"the corpus {name} has {first} and {second}, not {source} and {target}; give "
            f"source={first!r}, target={second!r}, or the reverse"
        )
    refuse_one_language(source, target)
    place = corpus_folder(name, folder) if known.needs_folder else Path()
    if known.source.is_fixed:
        refuse_other_files(name, known.source, split_files(place, first, second))
    corpus = Corpus(
        name=name,
        terms=known.source.terms,
        cleaned=known.cleaned,
        languages=Languages(first, second),
        **known.read(place, first, second)._asdict(),
    )
    return corpus if source == first else corpus.reversed()


@refuses_other_kinds
def load_files(files: Mapping[str, PairFiles], *, languages: Languages | None = None) -> Corpus:
    """Return a corpus of your own files, whatever their names.

    It is what `load_corpus("files", …)` returns, if such files have the names that it expects.

    Args:
        files: `TwoFiles` or a `Table` for each split. The split `train` is required; the names of the
            validation split are those of `load_corpus`.
        languages: The languages of source and target, if they are known; a model that is trained on the
            corpus stores them.
    """
    if "train" not in files:
        there = ", ".join(files) or "none"
        raise ValueError(f"there is no split train among the files (the splits are {there}); give its files")
    if languages is not None:
        refuse_one_language(*languages)
    terms = CORPORA[OWN_FILES].source.terms
    return Corpus(name=OWN_FILES, terms=terms, languages=languages, **_read_own(files)._asdict())


def corpus_folder(name: str, folder: str | Path | None = None) -> Path:
    """Return the folder of the corpus `name`: `folder`, or the folder called `name` inside it.

    The default of `folder` is the environment variable ANNOTATED_TRANSFORMER_DATA.
    """
    base = folder or os.environ.get(DATA_VARIABLE)
    if not base:
        fetch = f"; annotated-transformer download {name} downloads it" if name in published() else ""
        raise ValueError(
            f"the folder of the corpus {name} is unknown; give folder, or set {DATA_VARIABLE} to it{fetch}"
        )
    inside = Path(base) / name
    return inside if inside.is_dir() else Path(base)


def published() -> dict[str, Source]:
    """Return the sources of the corpora that can be downloaded, by name."""
    return {name: known.source for name, known in CORPORA.items() if known.source.url}


class SplitPairs(NamedTuple):
    """The result of a reader: the fields of a `Corpus` of the same names."""

    splits: Splits
    skipped: dict[str, int]
    note: str = ""
    files: tuple[PairFiles, ...] = ()


@dataclass(frozen=True, kw_only=True)
class KnownCorpus:
    """What there is to know about a corpus with a name. To add one, add an entry to `CORPORA`."""

    about: str
    read: Callable[[Path, str, str], SplitPairs]  # given its folder and the two languages
    languages: Languages | None  # None for the user's own files, which may be in any
    source: Source
    cleaned: bool = False  # by `read`
    needs_folder: bool = True
    files: tuple[str, ...] = ()  # the names that its files may have, if these are not {split}.{language}


def _toy(folder: Path, source: str, target: str) -> SplitPairs:
    from annotated_transformer.text.toy.pairs import toy_pairs  # it imports PyTorch, which takes seconds

    pairs, skipped = keep_usable([(pair.source, pair.target) for pair in toy_pairs(TOY_PAIRS)])
    return SplitPairs(split_by_sentence(pairs, share=0.05), skipped)


def _tatoeba(folder: Path, source: str, target: str) -> SplitPairs:
    path = find_file(folder, *TATOEBA_FILES)
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
    return SplitPairs(split_by_sentence(pairs), skipped)


def _parallel_files(folder: Path, source: str, target: str) -> SplitPairs:
    return _read(_find_files(folder, source, target))


def _find_files(folder: Path, source: str, target: str) -> dict[str, PairFiles]:
    names = dict.fromkeys(["train", *split_names(folder, source, target)])
    return {name: TwoFiles(*split_paths(folder, name, source, target)) for name in names}


def _read(files: Mapping[str, PairFiles]) -> SplitPairs:
    splits = {name: place.read() for name, place in files.items()}
    splits["train"], skipped = keep_usable(splits["train"])
    return SplitPairs(splits, skipped, files=tuple(files.values()))


def _own_files(folder: Path, source: str, target: str) -> SplitPairs:
    return _read_own(_find_files(folder, source, target))


def _is_swapped(place: PairFiles) -> bool:
    """Return which of two directions this is, so that the splits of both are the same."""
    if isinstance(place, TwoFiles):
        first, second = ((path.name, str(path.resolve())) for path in (place.source, place.target))
        return first > second
    return str(place.columns[0]) > str(place.columns[1])


def _read_own(files: Mapping[str, PairFiles]) -> SplitPairs:
    """Read the user's files, and split them if `train` is their only split.

    The splits of the two directions are the same, because one of them is swapped before.
    """
    reading = _read(files)
    if list(files) != ["train"]:
        names = [name for name in VALIDATION if name in reading.splits]
        note = f"The validation loss is that of {names[0]}." if names else NO_VALIDATION
        return reading._replace(note="" if names == ["val"] else note)
    swapped = _is_swapped(files["train"])
    pairs = _swap(reading.splits["train"]) if swapped else reading.splits["train"]
    try:
        splits = split_by_sentence(pairs, share=min(OWN_SHARE, OWN_PAIRS / max(len(pairs), 1)))
        note = (
            "There are only train files, so val and test were split off with a fixed seed, the same pairs "
            "each time; no sentence is in two splits."
        )
    except ValueError:  # an empty split
        splits = {"train": pairs}
        note = "There are only train files, with too few different sentences to split off val and test."
    if swapped:
        splits = {split: _swap(pairs) for split, pairs in splits.items()}
    return reading._replace(splits=splits, note=note)


def _swap(pairs: list[SentencePair]) -> list[SentencePair]:
    return [(target, source) for source, target in pairs]


ENGLISH_GERMAN = Languages("en", "de")
CORPORA = {
    "toy": KnownCorpus(
        about="sentences of a toy language, made on the fly",
        read=_toy,
        languages=ENGLISH_GERMAN,
        source=Source(terms="Terms: none; generated by this package, without anyone else's text."),
        needs_folder=False,
    ),
    "multi30k": KnownCorpus(
        about="captions of photos", read=_parallel_files, languages=ENGLISH_GERMAN, source=MULTI30K
    ),
    "tatoeba": KnownCorpus(
        about="short everyday sentences",
        read=_tatoeba,
        languages=ENGLISH_GERMAN,
        source=TATOEBA,
        cleaned=True,
        files=TATOEBA_FILES,
    ),
    OWN_FILES: KnownCorpus(
        about="your own sentences", read=_own_files, languages=None, source=Source(terms="Terms: your own.")
    ),
}
