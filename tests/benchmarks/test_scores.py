"""The benchmark of scores: the same translations scored in several ways, and people as a system."""

import re
from pathlib import Path

import pytest

from annotated_transformer.book.results import read_result
from annotated_transformer.evaluation.bleu import multi30k_bleu, sacrebleu_13a
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
