"""Sentences without a translation: which are taken from a file, and which are refused."""

from pathlib import Path

import pytest

from annotated_transformer.text.corpus import Corpus
from benchmarks.monolingual import LONGEST, read_monolingual

SPLITS = {
    "train": [("The dog barks.", "Der Hund bellt.")],
    "val": [("The cat sleeps.", "Die Katze schläft.")],
    "test": [("Is it “late”?", "Ist es spät?")],
}
CORPUS = Corpus(name="toy", splits=SPLITS, skipped={}, terms="", cleaned=True)


def write(folder: Path, *lines: str) -> Path:
    file = folder / "more.en"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def test_law_sentences_are_cleaned_taken_once_and_short(tmp_path: Path):
    long, longest = "é" * (LONGEST // 2) + "e", "é" * (LONGEST // 2)
    lines = "A  bird\u00a0sings.", "“Yes.”", "", " ", "A bird sings.", "A\u0007bell.", long, longest
    assert read_monolingual(write(tmp_path, *lines), CORPUS) == ["A bird sings.", '"Yes."', longest]


def test_law_a_training_sentence_and_a_target_are_allowed(tmp_path: Path):
    lines = ["The dog barks.", "Die Katze schläft."]
    assert read_monolingual(write(tmp_path, *lines), CORPUS) == lines


@pytest.mark.message
def test_message_sentences_for_validation_or_test_are_listed(tmp_path: Path):
    file = write(tmp_path, "A bird sings.", "the cat sleeps!", 'Is it "late"?')
    message = (
        r"more.en, line 2: 'the cat sleeps!' is in the split val\n.*more.en, line 3: 'Is it \"late\"\?' is "
        r"in the split test; remove these sentences, because a student may not train on what it is tested on"
    )
    with pytest.raises(ValueError, match=message):
        read_monolingual(file, CORPUS)
