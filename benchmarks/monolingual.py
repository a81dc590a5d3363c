"""Sentences without a translation, for teachers to translate."""

from pathlib import Path

from annotated_transformer.text.cleaning import clean
from annotated_transformer.text.corpus import Corpus
from annotated_transformer.text.lines import list_problems, read_lines
from annotated_transformer.text.words import count_words, normalized_words

LONGEST = 200  # bytes, so that a sentence and its translation fit into 256 positions


def read_monolingual(path: Path, corpus: Corpus) -> list[str]:
    """Return the sentences in a file, cleaned, each once.

    Lines without words, with control characters, or of more than `LONGEST` bytes are left out.

    Raises:
        ValueError: If a sentence is in a split for validation or test, or the file is no text.
    """
    held_out = {
        normalized_words(source): split
        for split, pairs in corpus.splits.items()
        if split != "train"
        for source, _ in pairs
    }
    texts, problems = [], []
    for number, line in enumerate(read_lines(path), start=1):
        text = clean(line)
        if split := held_out.get(normalized_words(text)):
            problems.append(f"{path}, line {number}: {text[:40]!r} is in the split {split}")
        if count_words(text) and text.isprintable() and len(text.encode()) <= LONGEST:
            texts.append(text)
    if problems:
        way_out = "remove these sentences, because a student may not train on what it is tested on"
        raise ValueError(list_problems(problems, way_out))
    return list(dict.fromkeys(texts))
