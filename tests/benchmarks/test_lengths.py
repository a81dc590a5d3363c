"""The contestants of the benchmark of lengths compute the same, and what it writes."""

import json
import sys
from pathlib import Path

import pytest
import torch

from annotated_transformer.book.chapters.self_attention.self_attention import plain_self_attention
from benchmarks import lengths


@pytest.mark.parametrize("loop", [lengths.loop_over_words, lengths.loop_over_pairs])
def test_oracle_the_loops_compute_what_the_products_compute(loop):
    x = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(loop(x), plain_self_attention(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("layer", lengths.LAYERS)
def test_law_a_round_updates_the_weights_and_counts_the_words(layer: str, monkeypatch: pytest.MonkeyPatch):
    made = []
    make = lengths.LAYERS[layer]
    monkeypatch.setitem(lengths.LAYERS, layer, lambda: made.append(make()) or made[-1])
    do_round = lengths.prepare_update(layer, 128)
    before = [weight.clone() for weight in made[0].parameters()]
    assert do_round() == 2 * lengths.BATCH * 128
    changed = [not torch.equal(*pair) for pair in zip(before, made[0].parameters(), strict=True)]
    assert len(changed) >= 3
    assert all(changed)


def test_law_a_loop_runs_as_often_as_its_round_says(monkeypatch: pytest.MonkeyPatch):
    calls = []
    monkeypatch.setitem(lengths.WAYS, "loop over words", (calls.append, lambda words: 21 // words))
    assert lengths.prepare_loop("loop over words", 7)() == 3 * 7
    assert [tuple(x.shape) for x in calls] == [(1, 7, lengths.LOOP_WIDTH)] * 3


@pytest.mark.parametrize("score", lengths.SCORES)
def test_law_a_lookup_runs_as_often_as_its_round_says(score: str, monkeypatch: pytest.MonkeyPatch):
    lookup = lengths.SCORES[score]()
    calls = []
    lookup.register_forward_hook(lambda _, inputs, output: calls.append(tuple(output.shape)))
    monkeypatch.setitem(lengths.SCORES, score, lambda: lookup)
    monkeypatch.setattr(lengths, "LOOKUPS", 21)
    assert lengths.prepare_lookup(score, 7)() == 3 * 7
    assert calls == [(1, 7, lengths.LOOP_WIDTH)] * 3
    assert sum(weight.numel() for weight in lookup.parameters()) - 3 * 64**2 in (0, 64)


@pytest.mark.usefixtures("quick_processes")
def test_law_the_benchmark_writes_each_length_and_ratio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out, threads = tmp_path / "out.json", torch.get_num_threads()
    for name, value in {"LOOP_LENGTHS": (3,), "SCORE_LENGTHS": (7,), "LENGTHS": (5,)}.items():
        monkeypatch.setattr(lengths, name, value)
    monkeypatch.setattr(sys, "argv", ["benchmark", "--rounds", "1", "--out", str(out)])
    lengths.main()
    torch.set_num_threads(threads)
    results = json.loads(out.read_text("utf-8"))["results"]
    assert list(results["loops"]["3"]["ratios"]["ours, two products"]) == [
        "loop over words",
        "loop over pairs",
    ]
    assert list(results["scores"]["7"]["ratios"]["ours, dot product"]) == ["additive score"]
    assert list(results["updates"]["5"]["ratios"]["ours, self-attention"]) == ["RNN", "LSTM"]
    assert all(len(line["per_second"]) == 1 for line in results["updates"]["5"]["found"].values())
