"""What the benchmark of beam sizes counts."""

import pytest
import torch

from annotated_transformer.decoding.beam import Hypotheses
from annotated_transformer.decoding.length_penalty import GnmtLength, PlainLength
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.text.tokenizer import EOS_ID
from benchmarks import beams

pytestmark = pytest.mark.usefixtures("unchecked")
PAIRS = [("The soup is too hot to eat.", "Die Suppe ist zu heiß zum Essen."), ("Go to bed.", "Geh ins Bett.")]


def test_law_the_rows_count_lengths_errors_and_empty_translations(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(beams, "BEAMS", (1, 3))
    found = beams.measure(Translator.from_pretrained("en-de"), PAIRS)
    assert [row["beam"] for row in found["rows"]] == [1, 3]
    assert found["sentences"] == found["proved"] == 2
    greedy, wider = found["rows"]
    assert greedy["bleu"]["none"] == greedy["bleu"]["mean"]  # a beam of 1 has nothing to rank
    assert 0.5 < wider["length_ratio"]["none"] < 2
    assert wider["search_errors"] <= greedy["search_errors"] <= 2


def test_law_a_search_error_is_a_less_likely_target_and_an_empty_one_is_counted(monkeypatch):
    monkeypatch.setattr(beams, "BEAMS", (1,))
    monkeypatch.setattr(beams, "optima", lambda translator, sources: [(-1.0, 1), None])
    monkeypatch.setattr(beams, "search", lambda *_: ([[EOS_ID], [7, EOS_ID]], [-1.5, -9.0]))
    translator = Translator.from_pretrained("en-de")
    found = beams.measure(translator, PAIRS)
    tokens = sum(map(len, translator.tokenizer.encode_source([target for _, target in PAIRS])))  # with EOS
    assert found["rows"][0]["length_ratio"]["none"] == 3 / tokens
    assert found["proved"] == found["empty_optima"] == 1
    assert found["rows"][0]["search_errors"] == 1  # nothing is known about the second sentence
    assert found["rows"][0]["empty"]["none"] == 1


def test_law_each_search_has_its_size_and_its_penalty(monkeypatch: pytest.MonkeyPatch):
    seen = []

    def look(model: object, src: object, **options: object) -> Hypotheses:
        seen.append((options["beam_size"], options["length_penalty"]))
        return Hypotheses(torch.tensor([[7, EOS_ID]]), torch.zeros(1), torch.zeros(1))

    monkeypatch.setattr(beams, "beam_search", look)
    for penalty in beams.PENALTIES.values():
        beams.search(Translator.from_pretrained("en-de"), [torch.tensor([[5, 2]])], 3, penalty)
    assert seen == [(3, PlainLength(0.0)), (3, GnmtLength(0.6)), (3, PlainLength(1.0))]
    assert list(beams.PENALTIES) == ["none", "gnmt", "mean"]


def test_law_an_optimum_that_takes_too_long_is_none(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise ValueError("5,000 prefixes")

    monkeypatch.setattr(beams, "exact_search", refuse)
    assert beams.optima(Translator.from_pretrained("en-de"), [torch.tensor([[5, 2]])]) == [None]
