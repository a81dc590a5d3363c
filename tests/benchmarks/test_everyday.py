"""The everyday sentences: their form, what counts as right, and that the models have not seen them."""

import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.checkpoint import WEIGHTS, pretrained_folder
from annotated_transformer.text.corpus import TATOEBA_FILES
from annotated_transformer.text.lines import read_lines
from benchmarks import everyday
from benchmarks.everyday import BEAMS, SENTENCES, accepted, essence, is_right, measure, wrong
from benchmarks.record import RESULTS
from benchmarks.ship import describe_file

DIRECTIONS = [("en", "de"), ("de", "en")]
NAMED = {"My grandmother plants tomatoes.", "I will never forget what you have done for me."}
directions = pytest.mark.parametrize(("source", "target"), DIRECTIONS)


def committed(source: str, target: str) -> dict:
    return json.loads((RESULTS / f"everyday_{source}-{target}.json").read_text("utf-8"))["results"]


@directions
def test_law_each_direction_has_32_short_sentences_with_up_to_five_translations(source: str, target: str):
    right = accepted(source, target)
    assert len(right) == 32
    for text, translations in right.items():
        assert 4 <= len(text.split()) <= 12, text
        assert 1 <= len(translations) <= 5, text
        assert max(Counter(map(essence, translations)).values()) == 1, text
    english = right if source == "en" else {text for translations in right.values() for text in translations}
    assert set(english) >= NAMED
    assert sum(len(accepted(*each)) for each in DIRECTIONS) == len(SENTENCES)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("I'll go, won't you?", True),
        ("I will go will not you", True),
        ("Ill go, won't you?", False),
        ("I will go.", False),
        ("i will go will not you", False),
    ],
)
def test_law_contractions_and_punctuation_do_not_count_but_words_and_their_case_do(text: str, right: bool):
    assert is_right(text, ["We go.", "I will go, won't you?"]) == right


def test_law_a_contraction_is_expanded_only_where_it_has_one_meaning():
    assert essence("It's Tom's, and she'd like what they'd seen.") == (
        "It is Tom s and she would like what they d seen"
    )
    assert essence("I can't, I'm sure you've said they're late.") == (
        "I cannot I am sure you have said they are late"
    )


class Parrot:
    """A mock translator that is right only with a beam of 5."""

    def translate(self, texts: list[str], *, beam_size: int) -> list[str]:
        return [text.upper() if beam_size == 5 else text for text in texts]


def test_law_the_result_counts_the_right_translations_of_each_search():
    right = {"a": ["B", "A"], "c": ["c"], "d": ["C"]}
    found = measure(Parrot(), right)
    assert found["sentences"] == 3
    assert found["right"] == {"greedy": 1, "beam 5": 1}
    assert found["translations"]["a"] == {"greedy": "a", "beam 5": "A"}
    assert wrong(found, right) == ["a [greedy] a", "c [beam 5] C", "d [greedy] d", "d [beam 5] D"]


@directions
def test_law_the_committed_result_is_that_of_the_shipped_model_and_of_these_sentences(source, target):
    found, right = committed(source, target), accepted(source, target)
    assert found["model"] == describe_file(pretrained_folder(f"{source}-{target}") / WEIGHTS), (
        f"run `python -m benchmarks.everyday --source {source} --target {target}`"
    )
    assert list(found["translations"]) == list(right)
    count = {
        way: sum(is_right(each[way], right[text]) for text, each in found["translations"].items())
        for way in BEAMS
    }
    assert found["right"] == count
    assert found["sentences"] == len(right)


@pytest.mark.parametrize("given", [True, False])
def test_law_the_result_of_another_model_is_not_among_the_committed_ones(
    given: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    model, results = tmp_path / "model", tmp_path / "results"
    checkpoint.save(model, *checkpoint.load(pretrained_folder("de-en")), languages=("de", "en"))
    monkeypatch.setattr(everyday, "RESULTS", results)
    monkeypatch.setattr(everyday.Translator, "from_folder", lambda folder: Parrot())
    options = ["--model", str(model)] if given else ["--source", "de", "--target", "en"]
    monkeypatch.setattr(sys, "argv", ["everyday", *options])
    everyday.main()
    (file,) = tmp_path.rglob("everyday_*.json")
    assert file == (model if given else results) / "everyday_de-en.json"
    found = json.loads(file.read_text("utf-8"))["results"]
    assert (found["model"] == describe_file(model / WEIGHTS)) == given
    assert list(found["translations"]) == list(accepted("de", "en"))  # also where only the model names them


def letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text.casefold())


@pytest.mark.usefixtures("unchecked")
def test_law_no_sentence_to_translate_is_in_tatoeba(shared_data: Path):
    """Then none of its pairs with an accepted translation is in the training split."""
    lines = read_lines(shared_data / "tatoeba" / TATOEBA_FILES[0], "deu.txt")
    columns = zip(*(line.split("\t")[:2] for line in lines), strict=True)
    for (source, target), column in zip(DIRECTIONS, columns, strict=True):
        known = set(map(letters, column))
        assert len(known) > 100_000
        assert letters("Hello!" if source == "en" else "Hallo!") in known
        assert [text for text in accepted(source, target) if letters(text) in known] == []
