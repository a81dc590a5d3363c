"""The benchmark of small corpora: splits are cut by name, and CPU time is added up across sessions."""

import dataclasses
import json
from types import SimpleNamespace

from annotated_transformer.decoding.translator import Translator
from annotated_transformer.text.corpus import Corpus
from annotated_transformer.text.toy.pairs import toy_pairs
from benchmarks import own_sentences
from benchmarks.own_sentences import CASES, Case, learn
from benchmarks.quality import first_pairs

PAIRS = [(pair.source, pair.target) for pair in toy_pairs(20)]
CORPUS = Corpus(name="toy", splits={"train": PAIRS, "val": PAIRS, "test": PAIRS}, skipped={}, terms="")


def test_law_only_the_named_splits_are_cut():
    cut = first_pairs(CORPUS, {"train": 10, "val": 3})
    assert cut.splits == {"train": PAIRS[:10], "val": PAIRS[:3], "test": PAIRS}


def test_law_a_fine_tuned_model_has_the_shape_of_the_shipped_one():
    (small, _) = [case for case in CASES if case.fine_tuned]
    shipped = Translator.from_pretrained("en-de").model.config
    assert small.recipe().shape == dataclasses.replace(shipped, dropout=small.dropout)


def test_law_an_interrupted_run_adds_its_cpu_time_to_that_of_the_earlier_runs(tmp_path, monkeypatch):
    corpus = dataclasses.replace(CORPUS, splits={"train": PAIRS})
    case = Case(corpus="toy", pairs=20, steps=1, vocab_size=300)
    # Both runs also log that they end within the warm-up, and the second one that it resumes.
    clock = iter([5.0, 5.0, 35.0, 100.0, 100.0, 100.0, 130.0])
    monkeypatch.setattr(own_sentences, "time", SimpleNamespace(process_time=lambda: next(clock)))
    assert learn(case, corpus, tmp_path / "run") == 0.5
    more = dataclasses.replace(case, steps=2)
    assert learn(more, corpus, tmp_path / "run") == 1.0
    assert json.loads((tmp_path / "run.seconds.json").read_text()) == 60
