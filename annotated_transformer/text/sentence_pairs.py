"""Pairs of a sentence and its translation: their files, which are usable (the chapter on tokens), splits.

Splits do not overlap: the model is tested on sentences that it was not trained on.
"""

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from annotated_transformer.text.pair_files import TwoFiles
from annotated_transformer.text.words import count_words, normalized_words

SentencePair = tuple[str, str]
Splits = dict[str, list[SentencePair]]


class Languages(NamedTuple):
    """The codes of the languages of a corpus or a model, such as "en" and "de"."""

    source: str
    target: str


def read_pairs(
    folder: str | Path, split: str, *, source: str = "en", target: str = "de"
) -> list[SentencePair]:
    """Return the sentence pairs of `split`, from `{split}.{language}` or `{split}.{language}.gz`.

    White space around a sentence is removed.
    """
    refuse_one_language(source, target)
    return TwoFiles(*split_paths(Path(folder), split, source, target)).read()


def split_names(folder: str | Path, source: str, target: str) -> list[str]:
    """Return the names of the splits of which `folder` has a file in one of these languages."""
    names = (
        path.name.removesuffix(".gz").removesuffix(f".{language}")
        for language in (source, target)
        for path in split_files(Path(folder), language)
    )
    return list(dict.fromkeys(names))


def split_paths(folder: Path, split: str, source: str, target: str) -> tuple[Path, Path]:
    """Return the source file and the target file of a split."""
    way_out = "; give a split and languages (source, target) that are there, or another folder"
    first, second = (
        find_file(folder, name, f"{name}.gz", way_out=way_out)
        for name in (f"{split}.{language}" for language in (source, target))
    )
    return first, second


def split_files(folder: Path, *languages: str) -> list[Path]:
    """Return the files called `{split}.{language}` or `{split}.{language}.gz`, without hidden ones."""
    endings = tuple(f".{language}" for language in languages)
    visible = (path for path in folder.glob("*") if not path.name.startswith((".", "~$")))
    return sorted(path for path in visible if path.name.removesuffix(".gz").endswith(endings))


def find_file(folder: Path, *names: str, way_out: str = "") -> Path:
    """Return the one of these files that exists."""
    files = [name for name in names if (folder / name).is_file()]
    if len(files) > 1:
        raise ValueError(f"{folder} has {' and '.join(files)}, and only one can count; remove one")
    if files:
        return folder / files[0]
    for name in names:
        if os.path.lexists(folder / name):  # a folder, a FIFO, or a broken link
            raise FileNotFoundError(f"{folder / name} is not a regular file; replace it by a text file")
    if not folder.is_dir():
        raise FileNotFoundError(
            f"there is no folder {folder}; give the one that contains {' or '.join(names)}"
        )
    there = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
    no = "neither" if len(names) > 1 else "no"
    raise FileNotFoundError(f"{folder} has {no} {' nor '.join(names)}; it contains {there}{way_out}")


def refuse_one_language(source: str, target: str) -> None:
    """Raise ValueError if both languages are the same."""
    if source == target:
        raise ValueError(
            f"source and target are both {source!r}, so there is nothing to translate; give two languages"
        )


def filter_reason(pair: SentencePair) -> str | None:
    """Return the reason why the pair is probably not a translation, or None.

    A pair is "empty" if one side has no words. It is "mismatched" if the longer
    side has more words than three times those of the shorter side plus three: at
    most 6 words for one, and 33 for ten. No rule about lengths is always right:
    the only pair that this one removes from Tatoeba is a translation, of 19 English
    words by 5 long German ones.
    """
    shorter, longer = sorted(count_words(text) for text in pair)
    if shorter == 0:
        return "empty"
    return "mismatched" if longer > 3 * shorter + 3 else None


def keep_usable(pairs: list[SentencePair]) -> tuple[list[SentencePair], dict[str, int]]:
    """Return the pairs to train on, and the number of pairs left out by reason."""
    reasons = [filter_reason(pair) for pair in pairs]
    usable = [pair for pair, reason in zip(pairs, reasons, strict=True) if reason is None]
    return usable, {reason: reasons.count(reason) for reason in ("empty", "mismatched")}


def split_by_sentence(pairs: list[SentencePair], *, seed: int = 0, share: float = 0.01) -> Splits:
    """Return the splits train, val and test, shuffled; no two have a sentence in common.

    Two sentences are the same if they differ only in case and punctuation. Pairs that have a
    sentence in common, directly or through other pairs, form a family, which stays in one split.
    About `share` of the families go to val and as many to test. The choice depends on a digest of the
    seed and the sentences, so it is the same on every machine and for every order of `pairs`.
    """
    splits: Splits = {"train": [], "val": [], "test": []}
    families = _families(pairs)
    for pair, family in zip(pairs, families, strict=True):
        draw = _draw(f"{seed} {family}")
        name = "test" if draw < share else "val" if draw < 2 * share else "train"
        splits[name].append(pair)
    for name, split in splits.items():
        if not split:
            raise ValueError(
                f"{len(pairs)} pairs that fall into {len(set(families))} families leave "
                f"the split {name} empty at share={share}; give more or a larger share"
            )
        split.sort(key=lambda pair: _draw(f"{seed} {pair}"))
    return splits


def _families(pairs: list[SentencePair]) -> list[str]:
    """Return the first sentence, in alphabetical order, of the family of each pair."""
    parent: dict[str, str] = {}

    def first(sentence: str) -> str:
        while parent.setdefault(sentence, sentence) != sentence:
            parent[sentence] = parent[parent[sentence]]  # path compression
            sentence = parent[sentence]
        return sentence

    nodes = [(f"1 {normalized_words(source)}", f"2 {normalized_words(target)}") for source, target in pairs]
    for node in nodes:
        smaller, larger = sorted(map(first, node))
        parent[larger] = smaller
    return [first(source) for source, _ in nodes]


def _draw(text: str) -> float:
    """Return a pseudorandom number from 0 to 1 that depends on `text` only."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7]) / 2**56
