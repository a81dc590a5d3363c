"""Each benchmark runs at its smallest size and writes a result; what it measures, somebody reads."""

import importlib
import json
import multiprocessing
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from annotated_transformer import TINY, Corpus
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.text.published_corpora import TATOEBA
from annotated_transformer.text.toy.pairs import toy_pairs
from annotated_transformer.training import Recipe, TrainingConfig
from benchmarks import record, turns

SMALL = replace(TINY, vocab_size=301, num_layers=1, d_model=8, d_ff=16, num_heads=2)
BIASED = replace(SMALL, attention_bias=True)
SEEDS = {"SEEDS": (0,)}


def small(recipe: Recipe) -> Recipe:
    """Return a recipe of a small model and of a few updates."""
    training = replace(recipe.training, steps=3, batch_tokens=499, warmup_steps=1, bf16=False)
    return replace(recipe, shape=SMALL, training=training, average=1)


def small_corpus(name: str, **_: Any) -> Corpus:
    """Return a corpus with the splits of both corpora, in which the first test sentence occurs twice."""
    texts = [(pair.source, pair.target) for pair in toy_pairs(97)]
    test = [*texts[92:], (texts[92][0], texts[93][1])]
    splits = {"train": texts[:85], "val": texts[85:92], "test": test, "test_2016_flickr": test}
    return Corpus(name=name, splits=splits, skipped={}, terms=TATOEBA.terms, cleaned=True)


# Each with its options, and with what replaces the constants of its module.
RUNS: dict[str, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    "decode": ("--rounds 1", lambda m: {"SHAPE": BIASED, "BATCH_SIZES": (2,), "SENTENCES": 2, "STEPS": 7}),
    "lengths": (
        "--rounds 1",
        lambda m: {"PARTS": {name: (*part[:2], (4,)) for name, part in m.PARTS.items()}},
    ),
    "roofline": (
        "",
        lambda m: {
            "ROUNDS": 1, "LEAST_SECONDS": 1e-4, "TOKENS": 512, "MATRICES": 1, "LONG": 2**10,
            "TINY": SMALL, "BASE": SMALL,
        },
    ),
    "recall": ("", lambda m: {"MEASURED": (2,), "CASES": m.CASES[-1:], **SEEDS}),
    "copying": ("", lambda m: {"CASES": [(*case[:2], 8, (2,)) for case in m.CASES[::3]], **SEEDS}),
    "scaling": ("--updates 2", lambda m: {"WIDTHS": (8,), "RATES": (0.01,), "HELD_OUT": 19, **SEEDS}),
    "modern_stacks": ("--updates 1", lambda m: {"RATES": (0.01,), "PAIRS": 300, **SEEDS}),
    "startup": ("", lambda m: {"ROUNDS": 1}),
    "families": ("", lambda m: {"FAMILIES": {"GPT2": "GPT-2", "DeepseekV3": "DeepSeek-V3"}}),
    "spanish": (
        "",
        lambda m: {"PAIRS": 3, "TEST": 2, "TRAINING": replace(m.TRAINING, steps=2, warmup_steps=1), **SEEDS},
    ),
    "beams": ("--data DIR", lambda m: {"SENTENCES": 2, "BEAMS": (1, 2)}),
    "reranking": ("--data DIR", lambda m: {"SENTENCES": 2, "SIZE": 2}),
    "scores": ("--data DIR", lambda m: {"SAMPLES": 5}),
    "pruning": ("--data DIR", lambda m: {"PAIRS": 2, "STEP": 30, **SEEDS}),
    "batches": ("--data DIR", lambda m: {"VOCABULARY": 301, "SHARE": 0.05, **SEEDS}),
    "collapse": (
        "--data DIR --out OUT",
        lambda m: {"DEFAULT_SHAPE": SMALL, "PAIRS": (19,), "STEPS": {2: 2}, "VALIDATION": 3, **SEEDS},
    ),
    "own_sentences": (
        "--data DIR --out OUT",
        lambda m: {"CASES": {"multi30k_19": (2, SMALL)}, "TEXTS": 2},
    ),
    "multi30k": (
        "--data DIR --out OUT --test",
        lambda m: {name: small(getattr(m, name)) for name in ("BOTH_WAYS", "FORWARD", "BACKWARD", "STUDENT")},
    ),
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., dict[str, Any]]]:
    """Return a function that runs a benchmark and returns what it has written."""
    server = multiprocessing.get_context("forkserver")  # its processes start quicker
    server.set_forkserver_preload(["torch._dynamo", "benchmarks.decode"])
    monkeypatch.setattr(turns, "PROCESSES", server)
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()

    def measured(name: str, options: str, constants: dict[str, Any]) -> dict[str, Any]:
        module = importlib.import_module(f"benchmarks.{name}")
        for constant, value in constants.items():
            monkeypatch.setattr(module, constant, value)
        monkeypatch.setattr(module, "load_corpus", small_corpus, raising=False)
        options = options.replace("OUT", shlex.quote(str(tmp_path / "out")))
        monkeypatch.setattr(sys, "argv", [name, *shlex.split(options)])
        before = {*tmp_path.glob("*.json")}
        module.main()
        (path,) = {*tmp_path.glob("*.json")} - before
        return json.loads(path.read_text("utf-8"))["results"]

    yield measured
    torch.set_default_dtype(dtype)
    torch.set_num_threads(threads)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", RUNS)
def test_law_a_benchmark_runs_and_writes_a_result(name: str, run: Callable[..., dict[str, Any]]):
    options, constants = RUNS[name]
    assert run(name, options, constants(importlib.import_module(f"benchmarks.{name}")))


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_law_a_trained_model_is_shipped_with_its_card(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checkpoint, "PRETRAINED", tmp_path / "weights")
    tiny = small(Recipe(shape=SMALL, training=TrainingConfig(steps=3)))
    results = run("shipped_model", "--data DIR --out OUT", {"recipe": lambda source, further: tiny})
    assert results["training"]["results"]["epochs"]
    card = (tmp_path / "weights" / "en-de" / "README.md").read_text("utf-8")
    assert card.startswith("# English to German")


def test_law_each_command_is_run():
    commands = {
        path.stem
        for path in Path(record.__file__).parent.glob("*.py")
        if "write_result(" in path.read_text("utf-8")
    }
    assert commands - {"record", "shipped_model"} == RUNS.keys()
