"""Sentence pairs in their splits: section 5.1 of the paper, the chapter on training."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from annotated_transformer.text.cleaning import SentencePair, clean, keep_usable
from annotated_transformer.text.lines import read_lines
from annotated_transformer.text.published_corpora import SOURCES, corpus_folder
from annotated_transformer.text.splitting import Splits, split_by_sentence
from annotated_transformer.text.toy.pairs import toy_pairs

TOY_PAIRS = 20_000


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Sentence pairs, (source, target), in splits.

    Attributes:
        name: What `load_corpus` was asked for.
        splits: The pairs of `train`, and of what there is to validate and to test on.
        skipped: How many pairs were left out, by reason.
        terms: What who uses the pairs must know, and must say: print it.
        cleaned: Whether its sentences went through `clean`, as then all must that a model
            of them reads: give that one a `Tokenizer.cleaning`.
    """

    name: str
    splits: Splits
    skipped: dict[str, int]
    terms: str
    cleaned: bool = False

    def summary(self) -> str:
        """Return what there is and what was left out, in a line, and below it the terms."""
        sizes = ", ".join(f"{split} {len(pairs)}" for split, pairs in self.splits.items())
        skipped = ", ".join(f"{number} {reason}" for reason, number in self.skipped.items())
        return f"{self.name}: {sizes} pairs; left out: {skipped}\n{self.terms}"

    def reversed(self) -> "Corpus":
        """Return the same pairs with source and target exchanged."""
        splits = {
            split: [(target, source) for source, target in pairs] for split, pairs in self.splits.items()
        }
        return dataclasses.replace(self, splits=splits)


def load_corpus(
    name: str, *, folder: str | Path | None = None, source: str = "en", target: str = "de"
) -> Corpus:
    """Return a corpus by its name.

    - `"toy"`: sentences of our own toy language; needs no folder.
    - `"multi30k"`: captions of pictures, in the splits that were published.
    - `"tatoeba"`: short sentences of daily life, made clean.
    - `"files"`: your own, `{split}.{language}` or that with `.gz`; one split is `train`.

    The toy language and Tatoeba are split by `split_by_sentence`. Pairs that can be no
    translation (`keep_usable`) are counted and left out: of Tatoeba before it is split, of
    published splits and your own from `train` alone.

    Args:
        name: One of these.
        folder: Where its files are, or the folder that has them in one called `name`;
            without it, the environment variable ANNOTATED_TRANSFORMER_DATA tells.
        source: Language to translate from.
        target: Language to translate into.

    Raises:
        ValueError: where the name or a language is unknown, no folder is given, or a file
            is not what it should be.
        FileNotFoundError: where a file is missing; says what is there.
    """
    if name not in READERS:
        raise ValueError(f"there is no corpus {name!r}; choose from {', '.join(READERS)}")
    if name != "files" and {source, target} != {"en", "de"}:
        raise ValueError(
            f"the corpus {name} has en and de, not {source} and {target}; "
            f"give source='en', target='de', or the reverse"
        )
    _refuse_one_language(source, target)
    place = Path() if name == "toy" else corpus_folder(name, folder)
    first, second = (source, target) if name == "files" else ("en", "de")
    splits, skipped = READERS[name](place, first, second)
    corpus = Corpus(
        name=name,
        splits=splits,
        skipped=skipped,
        terms=TERMS[name],
        cleaned=name == "tatoeba",
    )
    return corpus if source == first else corpus.reversed()


def read_pairs(
    folder: str | Path, split: str, *, source: str = "en", target: str = "de"
) -> list[SentencePair]:
    """Return the sentence pairs of `split`, from `{split}.{language}` or that with `.gz`.

    White space around a sentence is dropped.

    Raises:
        FileNotFoundError: where a file is missing; says what is there.
        ValueError: where a file is empty, holds an empty line or bytes that are not UTF-8,
            or where the two files have different numbers of lines.
    """
    _refuse_one_language(source, target)
    names = [f"{split}.{language}" for language in (source, target)]
    paths = [_find(Path(folder), name, f"{name}.gz") for name in names]
    src, tgt = (_read_sentences(path) for path in paths)
    if len(src) != len(tgt):
        raise ValueError(
            f"{paths[0]} has {len(src)} lines and {paths[1].name} has {len(tgt)}; "
            f"line i of one must translate line i of the other"
        )
    return list(zip(src, tgt, strict=True))


def _refuse_one_language(source: str, target: str) -> None:
    if source == target:
        raise ValueError(
            f"source and target are both {source!r}, so there is nothing to translate; give two languages"
        )


def _toy(folder: Path, source: str, target: str) -> tuple[Splits, dict[str, int]]:
    pairs, skipped = keep_usable([(pair.source, pair.target) for pair in toy_pairs(TOY_PAIRS)])
    return split_by_sentence(pairs, share=0.05), skipped


def _tatoeba(folder: Path, source: str, target: str) -> tuple[Splits, dict[str, int]]:
    path = _find(folder, "deu-eng.zip", "deu.txt")
    pairs = []
    for number, line in enumerate(read_lines(path, "deu.txt"), start=1):
        columns = line.split("\t") if line.strip() else ["", ""]
        if len(columns) not in (2, 3):  # later releases name the authors in a third
            raise ValueError(
                f"{path}, line {number} has {len(columns)} columns, not English, German "
                f"and perhaps a third, with tabs between them; fetch it again"
            )
        pairs.append((clean(columns[0]), clean(columns[1])))
    pairs, skipped = keep_usable(pairs)
    return split_by_sentence(pairs), skipped


def _parallel_files(folder: Path, source: str, target: str) -> tuple[Splits, dict[str, int]]:
    names = sorted(path.name.removesuffix(".gz") for path in folder.glob("*"))
    there = [n.removesuffix(f".{source}") for n in names if n.endswith(f".{source}")]
    splits = {
        split: read_pairs(folder, split, source=source, target=target)
        for split in dict.fromkeys(["train", *there])
    }
    splits["train"], skipped = keep_usable(splits["train"])
    return splits, skipped


def _read_sentences(path: Path) -> list[str]:
    sentences = [line.strip() for line in read_lines(path)]
    if "" in sentences:
        raise ValueError(f"{path}, line {sentences.index('') + 1} is empty; drop it from both files")
    return sentences


def _find(folder: Path, *names: str) -> Path:
    """Return the first of these files that there is."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}; give the one that holds {' or '.join(names)}")
    there = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
    raise FileNotFoundError(f"{folder} has neither {' nor '.join(names)}; it holds {there}")


READERS = {
    "toy": _toy,
    "multi30k": _parallel_files,
    "tatoeba": _tatoeba,
    "files": _parallel_files,
}
TERMS = {
    "toy": "Terms: none; made by this package, of nobody else's text.",
    **{name: source.terms for name, source in SOURCES.items()},
    "files": "Terms: your own.",
}
