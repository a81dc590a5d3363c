"""The benchmark of scores: the same translations scored in several ways, and people as a system."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from annotated_transformer.book.results import read_result
from annotated_transformer.evaluation.bleu import multi30k_bleu, sacrebleu_13a
from annotated_transformer.text.corpus import Corpus
from benchmarks import scores
from benchmarks.scores import another_reference, by_length, compare, same_output

ROOT = Path(__file__).resolve().parents[2]
REFERENCES = ["Ein Mann läuft heute durch den Park.", "Zwei Hunde spielen im hohen Gras.", "Ja, er kommt."]
WORSE = ["Ein Mann läuft durch den Wald.", "zwei Hunde spielen im hohen Gras.", "Ja, er kommt."]


def test_oracle_both_protocols_are_those_of_the_package():
    found = same_output(WORSE, REFERENCES, "de")
    assert found["cased, 13a"] == sacrebleu_13a(WORSE, REFERENCES).bleu
    assert found["lowercased, Moses"] == multi30k_bleu(WORSE, REFERENCES, "de").bleu
    assert found["lowercased, 13a"] > found["cased, 13a"] > found["cased, not tokenized"]
    perfect = same_output(REFERENCES, REFERENCES, "de")
    assert perfect == pytest.approx(dict.fromkeys(perfect, 100))


def test_oracle_systems_are_scored_as_by_the_package_and_compared_with_the_first(monkeypatch):
    monkeypatch.setattr(scores, "SAMPLES", 50)
    found = compare({"worse": WORSE, "best": REFERENCES}, REFERENCES, "de")
    assert found["worse"]["13a"]["score"] == sacrebleu_13a(WORSE, REFERENCES).bleu
    assert found["worse"]["Moses"]["score"] == pytest.approx(multi30k_bleu(WORSE, REFERENCES, "de").bleu)
    assert found["best"]["chrF"]["score"] == pytest.approx(100)
    assert found["worse"]["13a"]["p"] is None
    assert 0 < found["best"]["13a"]["p"] <= 1
    assert found["worse"]["13a"]["ci"] > found["best"]["13a"]["ci"] == pytest.approx(0)


def test_law_each_text_is_in_the_row_of_its_sources_length(monkeypatch):
    monkeypatch.setattr(scores, "SAMPLES", 50)
    sources = ["a b c d", "a b c d e", "a"]
    rows = by_length(list(zip(sources, REFERENCES, strict=True)), WORSE)
    assert [(row["from"], row["texts"], row["exact"]) for row in rows] == [(1, 2, 1), (5, 1, 0)]
    assert rows[1]["bleu"] == sacrebleu_13a(WORSE[1:2], REFERENCES[1:2]).bleu


def test_law_people_and_model_are_scored_on_the_sources_with_several_translations():
    pairs = [("a", REFERENCES[0]), ("b", REFERENCES[1]), ("a", WORSE[0])]
    found = another_reference(pairs, [WORSE[0], "x", WORSE[0]])
    assert (found["sources"], found["sources with several"]) == (2, 1)
    assert found["second person against first"] == sacrebleu_13a(WORSE[:1], REFERENCES[:1]).bleu
    assert found["model against all"] == pytest.approx(100)
    assert (found["model equals first"], found["model equals one of them"]) == (0, 1)


@pytest.mark.usefixtures("one_thread")
def test_law_the_wider_beam_is_scored_on_the_test_split_and_on_as_many_training_pairs(tmp_path, monkeypatch):
    sources = ["A man runs in the park.", "Two dogs play in the grass.", "Yes, he comes."]
    sources, references = [*sources, sources[0]], [*REFERENCES, "Heute läuft ein Mann im Park."]
    best = ["Ein Mann läuft durch den Park.", *REFERENCES[1:], "Ein Mann läuft durch den Park."]
    seen = [(f"{place}.", text) for place, text in enumerate([*references, *REFERENCES])]
    learned = [*WORSE, "Heute läuft er.", "Nein.", "Nein.", "Nein."]
    splits = {"train": seen, "test": list(zip(sources, references, strict=True))}
    said = {
        beam: dict(zip([*sources, *(source for source, _ in seen)], texts, strict=True))
        for beam, texts in {1: [*WORSE, WORSE[0], *["Ja."] * 7], 5: [*best, *learned]}.items()
    }

    def load_corpus(name: str, *, folder: Path, source: str, target: str) -> Corpus:
        assert (name, folder, source, target) == ("tatoeba", tmp_path, "en", "de")
        return Corpus(name=name, splits=splits, skipped={}, terms="")

    def from_pretrained(name: str) -> SimpleNamespace:
        assert name == "en-de"
        return SimpleNamespace(
            translate=lambda texts, *, beam_size: [said[beam_size][text] for text in texts]
        )

    for name, value in {"SAMPLES": 50, "RESULTS": tmp_path, "load_corpus": load_corpus}.items():
        monkeypatch.setattr(scores, name, value)
    monkeypatch.setattr(scores, "Translator", SimpleNamespace(from_pretrained=from_pretrained))
    monkeypatch.setattr(sys, "argv", ["scores", "--data", str(tmp_path)])
    scores.main()
    found = json.loads((tmp_path / "scores_en-de.json").read_text("utf-8"))["results"]
    systems = {name: values["13a"]["score"] for name, values in found["systems"].items()}
    assert systems == {
        "beam 1": sacrebleu_13a([*WORSE, WORSE[0]], references).bleu,
        "beam 5": sacrebleu_13a(best, references).bleu,
    }
    assert (found["texts"], found["exact"]) == (4, 2)  # beam 1 would have one exact text
    assert found["same output"] == same_output(best, references, "de")
    assert [(row["texts"], row["exact"]) for row in found["by length"]] == [(1, 1), (3, 1)]
    assert found["another reference"] == another_reference(splits["test"], best)
    assert found["copied source"] == sacrebleu_13a(sources, references).bleu
    following = [*references[1:], references[0]]
    assert found["references of the next line"] == sacrebleu_13a(best, following).bleu
    assert found["training sentences"] == sacrebleu_13a(learned[:4], references).bleu


def test_law_chapter_17_has_the_numbers_of_the_results():
    text = re.sub(r" *<!--.*?-->", "", (ROOT / "chapters/src/17_translation.md").read_text("utf-8"))
    found = read_result("scores_en-de")
    person = found["another reference"]["second person against first"]
    assert f"a second human translation got {person:.0f} in our table" in text
    assert f"a test set of {found['texts']:,} pairs" in text
    assert f"For our {found['texts']:,} pairs" in text
    splits = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco", "test_2018_flickr")
    seeds = [read_result(f"multi30k_seed{seed}") for seed in range(3)]
    gaps = []
    for split in splits:
        scores = [seed["scores"]["multi30k"][f"{split}, beam 5"]["bleu"] for seed in seeds]
        gaps.append(max(scores) - min(scores))
    assert f"our three seeds on Multi30k differ by up to {max(gaps):.1f}" in text
