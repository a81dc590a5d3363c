"""The benchmark of translation searches with the same weights in several ways, and stores no sentence."""

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from annotated_transformer.decoding.translator import Translator
from benchmarks import translate
from benchmarks.translate import MAKERS, GenerateTranslator, Work, compare_translations, prepare

TEXTS = [
    "A man runs in the park.",
    "Two dogs play in the grass.",
    "Yes, he comes.",
    "A woman in a red dress is reading a book to three small children.",
    "Nobody is here.",
]
Run = Callable[..., dict]

pytestmark = pytest.mark.usefixtures("unchecked", "one_thread")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Return a function that runs the benchmark on our own sentences and returns its record."""

    def load_corpus(name: str, *, folder: Path) -> SimpleNamespace:
        assert (name, folder) == ("multi30k", tmp_path)
        return SimpleNamespace(splits={translate.SPLIT: [(text, "Ja.") for text in TEXTS]})

    def measure(*arguments: str) -> dict:
        monkeypatch.setattr(translate, "load_corpus", load_corpus)
        out = tmp_path / "out.json"
        options = "--data", str(tmp_path), "--out", str(out), "--rounds", "1"
        monkeypatch.setattr(sys, "argv", ["benchmark", *options, *arguments])
        translate.main()
        text = out.read_text(encoding="utf-8")
        words = {word for source in TEXTS for word in source.split() if len(word) > 4}
        assert not any(word in text for word in words)
        return json.loads(text)

    return measure


@pytest.mark.usefixtures("quick_processes")
def test_law_it_runs_to_completion_without_the_peer_and_stores_no_sentence(run: Run, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "transformers", None)  # as if it were not installed
    record = run("--batch-sizes", "1", "2", "--sentences", "3")
    assert record["machine"]["threads"] == 1
    results = record["results"]
    assert [*results] == ["split", "batch 1", "batch 2"]
    for size in (1, 2):
        result = results[f"batch {size}"]
        assert result["work"] == {"sentences": 3, "batch_size": size, "device": "cpu"}
        assert result["found"].pop("HF generate") == {"absent": "without transformers"}
        assert all(min(line["per_second"]) > 0 for line in result["found"].values())
        same = {"equal": 3, "of": 3, "others": []}
        assert result["translations"] == dict.fromkeys(("ours, fast", "ours, plain"), same)
        assert result["ratios"] == {"ours, fast": {}, "ours, plain": {}}
    assert "batch 2: {" in capsys.readouterr().out


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
def test_law_it_runs_on_a_card(run: Run):
    record = run("--device", "cuda", "--batch-sizes", "1", "3")
    assert record["machine"]["card"] == torch.cuda.get_device_name()
    for size in (1, 3):
        result = record["results"][f"batch {size}"]
        measured = [name for name, line in result["found"].items() if "per_second" in line]
        assert "ours, plain" in measured
        assert {*measured} == {*result["translations"]}
        assert all(same["equal"] == len(TEXTS) for same in result["translations"].values())


def test_oracle_all_contestants_translate_alike_and_the_peer_by_weights_of_its_own():
    expected = Translator.from_pretrained().explain(TEXTS)
    for make, needs in MAKERS.values():
        if all(map(importlib.util.find_spec, needs)):
            translator = make(device="cpu")
            found = translator.explain(TEXTS, batch_size=2)
            assert [one.text for one in found] == [one.text for one in expected]
            log_probs = [one.log_prob for one in expected]
            assert [one.log_prob for one in found] == pytest.approx(log_probs, abs=1e-3)
            assert prepare(Work(TEXTS, 3), make)() == len(TEXTS)
            if isinstance(translator, GenerateTranslator):
                translator.marian.model.shared.weight.data.neg_()
                assert translator.translate(TEXTS) != [one.text for one in expected]


def test_law_another_translation_is_listed_by_its_number_with_both_log_probabilities():
    found, expected = (
        [SimpleNamespace(text=text, log_prob=log_prob) for text, log_prob in said]
        for said in (
            [("Ja.", -0.5), ("Nein.", -1.234567), ("Gut.", -2.0)],
            [("Ja.", -0.25), ("Kein.", -1.25), ("Gut.", -2.0)],
        )
    )
    assert compare_translations(found, expected) == {
        "equal": 2,
        "of": 3,
        "others": [{"index": 1, "log_prob": -1.23457, "log_prob_of_cpu": -1.25}],
    }
