"""The speed benchmarks run to completion even if peers are absent, and all contestants do comparable work."""

import dataclasses
import importlib.util
import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import torch

from annotated_transformer.decoding.kv_cache import KeyValueCache
from annotated_transformer.fast.kv_cache import FastKeyValueCache
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import EOS_ID
from benchmarks import decode, train
from benchmarks.peers import comparable
from benchmarks.synthetic import CORRELATION, SRC, TGT, log_length, multi30k_like, random_pairs
from benchmarks.tables import decode_table, train_table

PEERS = "transformers", "ctranslate2", "onnx"
OURS = [partial(decode.ours, decoder=cache) for cache in (KeyValueCache, FastKeyValueCache)]
EXPORTED = [OURS[0], partial(decode.by_onnxruntime, dtype="float32")]
TWINS = [
    [*OURS, partial(decode.by_ctranslate2, dtype="float32")],
    pytest.param(EXPORTED, marks=pytest.mark.slow),  # exporting takes seconds
]
if all(map(importlib.util.find_spec, PEERS)):
    TWINS.append([decode.marian, decode.ctranslate2])
WORK = decode.Work(size="toy", batch_size=3, batches=2, steps=7, seed=23)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., dict]]:
    """Return a function that runs a benchmark without some of the optional peers and returns its record."""
    threads = torch.get_num_threads()

    def measure(main: Callable[[], None], *arguments: str, without: tuple[str, ...] = PEERS) -> dict:
        for package in without:
            monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
        out = tmp_path / "out.json"
        monkeypatch.setattr(sys, "argv", ["benchmark", "--size", "toy", "--out", str(out), *arguments])
        main()
        return json.loads(out.read_text(encoding="utf-8"))

    yield measure
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("quick_processes")
def test_law_the_training_benchmark_runs_to_completion(run, capsys):
    options = "--batches 2 --batch-tokens 128 --pairs 40 --rounds 2 --seed 5 --peak-tflops 0.5 --lengths 9 4"
    record = run(train.main, *options.split())
    result = record["results"]
    assert (record["seed"], record["machine"]["threads"]) == (5, 1)
    work = {"size": "toy", "batches": 2, "batch_tokens": 128, "pairs": 40, "seed": 5, "device": "cpu"}
    assert result["work"] == work | {"lengths": [9.0, 4.0]}
    batches = train.Work(**work, lengths=(9, 4)).make()
    assert result["tokens_per_update"] == round(sum(batch.num_labels for batch in batches) / 2)
    measured = {name for name, line in result["found"].items() if len(line.get("per_second", [])) == 2}
    assert len(measured) == 5
    absent = {name for name, line in result["found"].items() if "absent" in line}
    assert absent == {"HF MarianMTModel, float32", "HF MarianMTModel, bfloat16"}
    assert len(result["ratios"]) == 3
    assert "ours, fast, bfloat16 / torch.nn.Transformer, float32: " in capsys.readouterr().out
    weights = sum(p.numel() for p in Transformer(comparable("toy")).parameters())
    name = "torch.nn.Transformer, float32"
    share = 6 * weights * sum(result["found"][name]["per_second"]) / 2 / 0.5e12
    assert result["peak"]["shares"][name] == pytest.approx(share, abs=1e-4)
    table = train_table([record])
    assert "Share of 0.5 TFLOP/s, by 6 × weights × target tokens/s: ours, plain, float32 " in table
    assert table.count("absent: without transformers") == 2


@pytest.mark.usefixtures("quick_processes")
def test_law_the_decoding_benchmark_runs_to_completion(run: Callable[..., dict]):
    options = "--batch-sizes 1 3 --sentences 3 --steps 7 --rounds 1"
    record = run(decode.main, *options.split())
    assert list(record["results"]) == ["batch 1", "batch 3"]
    for name, batches in (("batch 1", 3), ("batch 3", 1)):
        result = record["results"][name]
        assert result["work"]["batches"] == batches
        assert result["found"]["CTranslate2"] == {"absent": "without ctranslate2, transformers"}
        assert set(result["ratios"]) == {"ours, FastKeyValueCache", "ours, KeyValueCache"}
    assert decode_table([record]).count("absent: without transformers |") == 2


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
@pytest.mark.parametrize(
    ("main", "options"),
    [
        (train.main, "--batches 2 --batch-tokens 128 --pairs 40 --lengths 9 4 --peak-tflops 800"),
        (decode.main, "--batch-sizes 3 --sentences 3 --steps 7"),
    ],
)
def test_law_the_benchmarks_run_on_a_card(run, main: Callable[[], None], options: str):
    record = run(main, "--device", "cuda", "--rounds", "1", *options.split(), without=())
    assert record["machine"]["card"] == torch.cuda.get_device_name()
    for result in [record["results"]] if main is train.main else record["results"].values():
        measured = [line for line in result["found"].values() if "per_second" in line]
        assert len(measured) > 2
        assert all(line["per_second"][0] > 0 and 0 < line["peak_mb"] < 2000 for line in measured)


@pytest.mark.parametrize("makers", TWINS)
def test_oracle_contestants_with_the_same_weights_generate_the_same_tokens(makers):
    said = []
    for make in makers:
        torch.manual_seed(WORK.seed)
        decoded = make(WORK)
        said.append([decoded(src) for src in WORK.make()])
    for first, *others in zip(*said, strict=True):
        assert all(torch.equal(first, again) for again in others)
        assert first.shape == (3, 7)
        assert not (first == EOS_ID).any()


@pytest.mark.parametrize(
    ("contestants", "work", "fast", "plain"),
    [
        (decode.contestants, WORK, {"FastKeyValueCache"}, {"KeyValueCache"}),
        (
            train.contestants,
            train.Work("toy", batches=2, batch_tokens=99, pairs=40, seed=3),
            {"plain, float32", "fast, float32", "fast, bfloat16"},
            {"plain, float32", "plain, bfloat16"},
        ),
    ],
)
def test_law_the_accelerated_path_is_measured_only_on_a_cpu(contestants, work, fast, plain):
    for device, expected in (("cpu", fast | plain - {"plain, bfloat16"}), ("cuda", plain)):
        names = [each.name for each in contestants(dataclasses.replace(work, device=device))]
        ours = {name[6:] for name in names if name.startswith("ours") and ", by " not in name}
        assert ours == expected


def test_law_synthetic_lengths_have_the_distribution_of_multi30k():
    pairs = multi30k_like(4001, vocab_size=50, longest=1000, seed=0)
    lengths = torch.tensor([[len(src), len(tgt)] for src, tgt in pairs], dtype=torch.float64).log().T
    expected = torch.tensor([SRC, TGT], dtype=torch.float64)
    found = torch.stack([lengths.mean(dim=1), lengths.std(dim=1)], dim=1)
    torch.testing.assert_close(found, expected, rtol=0, atol=0.02)
    assert abs(torch.corrcoef(lengths)[0, 1] - CORRELATION) < 0.02
    words = torch.tensor([id_ for src, tgt in pairs for id_ in (*src[:-1], *tgt[1:-1])])
    assert (int(words.min()), int(words.max())) == (3, 49)
    assert max(len(x) for pair in multi30k_like(99, vocab_size=50, longest=9, seed=0) for x in pair) == 9


def test_law_given_lengths_have_their_mean_and_deviation_on_both_sides():
    both = log_length(28, 10)
    pairs = random_pairs(4001, both, both, vocab_size=50, longest=1000, seed=0)
    lengths = torch.tensor([[len(src), len(tgt)] for src, tgt in pairs], dtype=torch.float64).T
    assert lengths.mean(dim=1).tolist() == pytest.approx([28, 28], abs=0.4)
    assert lengths.std(dim=1).tolist() == pytest.approx([10, 10], abs=0.4)
    assert torch.corrcoef(lengths.log())[0, 1] == pytest.approx(CORRELATION, abs=0.02)
    (src, _), *_ = random_pairs(1, log_length(28, 0), both, vocab_size=50, longest=1000, seed=0)
    assert len(src) == 28


@pytest.mark.message
@pytest.mark.parametrize(("mean", "deviation"), [(0, 1), (28, -1), (math.nan, 1)])
def test_message_lengths_that_do_not_exist(mean: float, deviation: float):
    sentence = (
        f"lengths of {mean:g} ± {deviation:g} tokens do not exist; give a positive mean, and a deviation "
    )
    with pytest.raises(ValueError, match=re.escape(f"{sentence}of 0 or more")):
        log_length(mean, deviation)


@pytest.mark.message
def test_message_too_few_tokens():
    with pytest.raises(RuntimeError, match=r"^decoded shape \(3, 5\), expected \(3, 7\)$"):
        decode.prepare(WORK, lambda work: lambda src: torch.zeros(3, 5))()
