"""Does a decoder-only model of today's make translate the toy language better than one of 2017's?

    python -m benchmarks.modern_stacks
    python -m benchmarks.modern_stacks --done LOG

We train each stack of chapter 22's ladder, all with about the same number of parameters, with three
learning rates and three seeds, and measure the loss on held-out sentences, and how many are translated right.
The result is written after each run. If a benchmark was interrupted, `--done` takes what it printed, and
these runs are not repeated.
"""

import ast
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.book.chapters.from_here_to_modern_models.stacks import (
    LADDER,
    Texts,
    build_stack,
    count_parameters,
    fit_translation,
    share_translated,
    translation_texts,
)
from annotated_transformer.modern.language_model import next_token_loss
from benchmarks.record import RESULTS, begin, write_result

SEEDS = (0, 1, 2)
RATES = (0.01, 0.005, 0.02)  # the last one is too high for 2017's stack


def run(
    name: str,
    train: Texts,
    held_out: Texts,
    *,
    vocab_size: int,
    weights: int,
    updates: int,
    max_lr: float,
    seed: int,
) -> dict[str, Any]:
    """Return what one training run led to."""
    torch.manual_seed(seed)
    model = build_stack(name, vocab_size, weights=weights)
    fit_translation(model, train, updates=updates, max_lr=max_lr, seed=seed, batch=32)
    return {
        "max_lr": max_lr,
        "seed": seed,
        "parameters": count_parameters(model),
        "d_ff": model.config.d_ff,
        "loss": round(next_token_loss(model, held_out.ids, held_out.counted).item(), 4),
        "right": round(share_translated(model, held_out), 4),
    }


def read_done(log: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the runs that an interrupted benchmark printed, by stack."""
    done: dict[str, list[dict[str, Any]]] = {name: [] for name in LADDER}
    for line in log.read_text(encoding="utf-8").splitlines():
        name, found, values = line.partition(" {")
        if found and name in done:
            done[name].append(ast.literal_eval("{" + values))
    return done


def main() -> None:
    """Train all stacks, and write the result."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=400, help="updates of a run (default: 400)")
    parser.add_argument("--done", type=Path, help="what an interrupted benchmark printed")
    options = begin(parser)
    stacks = read_done(options.done) if options.done else {name: [] for name in LADDER}
    train, held_out, vocabulary = translation_texts(4000)
    weights = count_parameters(build_stack("2017", vocabulary.vocab_size))
    for max_lr, name, seed in [(rate, name, seed) for rate in RATES for name in LADDER for seed in SEEDS]:
        if any((found["max_lr"], found["seed"]) == (max_lr, seed) for found in stacks[name]):
            continue
        found = run(
            name, train, held_out, vocab_size=vocabulary.vocab_size, weights=weights, updates=options.updates,
            max_lr=max_lr, seed=seed,
        )  # fmt: skip
        stacks[name].append(found)
        print(name, found, flush=True)
        results = {"updates": options.updates, "held_out": len(held_out.ids), "stacks": stacks}
        write_result(RESULTS / "modern_stacks.json", seed=SEEDS[0], results=results)


if __name__ == "__main__":
    main()
