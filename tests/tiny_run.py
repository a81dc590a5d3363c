"""Helpers for testing saved training runs: a tiny run that always starts from the same weights."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from annotated_transformer import TrainingConfig, Transformer, train
from annotated_transformer.text.batching import Pair
from annotated_transformer.training import EpochMetrics, RunDirectory

STEPS = 17  # the 23 pairs make 4 batches: four full epochs and a partial one
BRIEF = TrainingConfig(steps=STEPS, batch_tokens=53, warmup_steps=3, max_lr=1e-2, fast=False)


class Run:
    """A tiny training run with fixed initial weights; calling it returns the final weights and metrics."""

    def __init__(self, make_model: Callable[..., Transformer], pairs: list[Pair], **options: object) -> None:
        self.make_model, self.pairs, self.options = make_model, pairs, options

    def __call__(
        self,
        run_directory: RunDirectory | None,
        config: TrainingConfig = BRIEF,
        seed: int = 0,
        **options: object,
    ) -> tuple[dict[str, Tensor], list[EpochMetrics]]:
        model = self.make_model()
        rng = torch.Generator().manual_seed(seed)
        reports = train(
            model,
            self.pairs,
            config,
            generator=rng,
            run_directory=run_directory,
            **{**self.options, **options},
        )
        return model.state_dict(), reports

    def into(
        self, folder: Path, *arguments: object, seconds: float = 180.0, **options: object
    ) -> tuple[dict[str, Tensor], list[EpochMetrics]]:
        """Run with a run directory in `folder`."""
        with RunDirectory(folder, seconds=seconds) as run_directory:
            return self(run_directory, *arguments, **options)


@pytest.fixture
def run(make_model: Callable[..., Transformer], copy_pairs: Callable[..., list[Pair]]) -> Run:
    return Run(make_model, copy_pairs(23))


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return list(one) == list(other) and all(torch.equal(one[name], other[name]) for name in one)


def lines(folder: Path) -> list[dict[str, object]]:
    """Return the logged metrics without the throughput."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{name: x for name, x in line.items() if name != "tokens_per_second"} for line in rows]
