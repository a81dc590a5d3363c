"""What the benchmark of reranking chooses and counts."""

import math

import pytest
import torch

from annotated_transformer.decoding.translator import RankedTranslation, Translator
from annotated_transformer.inspection.observation import observe
from benchmarks import reranking

pytestmark = pytest.mark.usefixtures("unchecked")
PAIRS = [("The soup is too hot to eat.", "Die Suppe ist zu heiß zum Essen."), ("Go to bed.", "Geh ins Bett.")]


@pytest.fixture(scope="module")
def backward() -> Translator:
    return Translator.from_pretrained("de-en")


def test_law_the_rankings_add_what_they_say():
    ranked = [RankedTranslation("a", -1.0, -0.5), RankedTranslation("b", -2.0, -0.25)]
    found = reranking.rankings(ranked, [-3.0, -4.0], 7)
    assert found["first"] == [-0.5, -0.25]
    assert found["log p"] == [-1.0, -2.0]
    assert found["sum"] == [-4.0, -6.0]
    assert found["penalized sum"] == pytest.approx([-0.5 - 3 / 2**0.6, -0.25 - 4 / 2**0.6])


def test_law_a_list_has_the_log_probabilities_of_its_translations_alone(backward: Translator):
    source, texts = "Go to bed.", ["Geh ins Bett.", "Gehen Sie bitte sofort ins Bett!", ""]
    found = reranking.back_log_probs(backward, texts, source)
    (ids,) = backward.tokenizer.encode_target([source])
    for text, log_prob in zip(texts, found, strict=True):
        (given,) = backward.tokenizer.encode_source([text])
        alone = observe(backward.model, torch.tensor([given]), torch.tensor([ids[1:]]))
        assert log_prob == pytest.approx(alone.log_probs.item(), abs=1e-4)
    assert found[0] > found[2]
    assert all(map(math.isfinite, found))


def test_law_the_result_has_the_bleu_of_what_was_chosen(monkeypatch, backward):
    texts = [[target, "Hunde bellen."] for _, target in PAIRS]  # the first one is the reference
    lists = [[RankedTranslation(text, -1.0, -1.0) for text in both] for both in texts]
    forward = Translator.from_pretrained("en-de")
    monkeypatch.setattr(forward, "nbest", lambda sources, nbest, beam_size: lists)
    monkeypatch.setattr(reranking, "back_log_probs", lambda *_: [-2.0, -1.0])
    found = reranking.measure(forward, backward, PAIRS)
    ways = found["ways"]
    assert found["sentences"] == ways["sum"]["changed"] == ways["penalized sum"]["changed"] == 2
    assert ways["first"]["bleu"] == ways["log p"]["bleu"] == ways["closest"]["bleu"] == pytest.approx(100)
    assert ways["sum"]["bleu"] < 20
    assert ways["first"]["p"] is None
    assert 0 < ways["sum"]["p"] <= 1
