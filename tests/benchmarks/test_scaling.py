"""The scaling benchmark trains each width with each rate, and chooses the best rate on other sentences."""

import pytest
import torch

from annotated_transformer.text.batching import Pair
from annotated_transformer.text.toy.pairs import WordVocabulary, toy_pairs
from benchmarks import scaling
from benchmarks.record import RESULTS
from tests.benchmarks.test_results import result

MEASURED = sorted(path.stem for path in RESULTS.glob("scaling_toy-*.json"))


def test_law_the_rate_rises_stays_and_falls():
    rates = [scaling.rate_of(step, 3.0, 10) for step in range(10)]
    assert rates == pytest.approx([1.5, 3, 3, 3, 3, 2.4, 1.8, 1.2, 0.6, 0])


def test_law_each_width_is_trained_with_each_rate_and_reports_the_best(monkeypatch: pytest.MonkeyPatch):
    trained: list[tuple[int, float]] = []
    first = []
    monkeypatch.setattr(scaling, "RATES", (0.5, 0.25))
    monkeypatch.setattr(scaling, "SEEDS", (0, 1))

    def train(model: object, pairs: list[Pair], rate: float) -> None:
        trained.append((len(pairs), rate))
        first.append(encoded.index(pairs[0]))

    monkeypatch.setattr(scaling, "train", train)
    losses = iter([3.0, 1.0, 5.0, 1.0, 2.0, 9.0, 2.0, 7.0])  # for choosing, and to report, by turns
    monkeypatch.setattr(scaling, "mean_loss", lambda model, batches: next(losses))
    pairs = toy_pairs(20)
    vocabulary = WordVocabulary([text for pair in pairs for text in (pair.source, pair.target)])
    encoded = [vocabulary.encode(pair) for pair in pairs] * 10
    found = scaling.measure(8, 2, [encoded[:2], encoded[2:4], encoded], vocabulary.vocab_size)
    assert trained == [(2 * scaling.BATCH, rate) for rate in (0.5, 0.5, 0.25, 0.25)]
    assert first == 2 * [0, 2 * scaling.BATCH % 20]  # each seed has its own sentences
    assert found["rate"] == 0.25
    assert found["losses"] == [9.0, 7.0]
    assert found["embeddings"] == 8 * vocabulary.vocab_size


def test_law_training_changes_the_weights_and_a_seed_repeats_them(monkeypatch: pytest.MonkeyPatch):
    pairs = toy_pairs(2 * scaling.BATCH)
    vocabulary = WordVocabulary([text for pair in pairs for text in (pair.source, pair.target)])
    encoded = [vocabulary.encode(pair) for pair in pairs]
    models = [scaling.model_of(8, vocabulary.vocab_size, 0) for _ in range(3)]
    for model in models[:2]:
        scaling.train(model, encoded, 0.01)
    first, second, new = (model.embedding.weight for model in models)
    assert torch.equal(first, second)
    assert not torch.equal(first, new)


@pytest.mark.parametrize("name", MEASURED or ["scaling_toy-none"])
def test_law_the_committed_rate_is_the_best_of_the_grid(name: str):
    found = result(name)
    assert [row["width"] for row in found["rows"]] == list(scaling.WIDTHS)
    for row in found["rows"]:
        assert row["losses"] == row["by_rate"][str(row["rate"])]
        assert len(row["losses"]) == len(found["seeds"])
