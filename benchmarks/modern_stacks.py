"""Does a decoder-only model of today's make translate the toy language better than one of 2017's?

    python -m benchmarks.modern_stacks

We train each stack of chapter 22's ladder, all with about the same number of parameters, with three
learning rates and three seeds, and measure the loss on held-out sentences, and how many are translated right.
"""

from argparse import ArgumentParser
from typing import Any

import torch

from annotated_transformer.book.chapters.from_here_to_modern_models.stacks import (
    LADDER,
    Texts,
    build,
    count_parameters,
    fit_translation,
    share_right,
    translation_texts,
)
from annotated_transformer.modern.language_model import next_token_loss
from benchmarks.record import RESULTS, begin, write_result

SEEDS = (0, 1, 2)
RATES = (0.005, 0.01, 0.02)
EVERY = 20  # updates whose losses are averaged


def run(
    name: str, train: Texts, held_out: Texts, *, vocab_size: int, weights: int, updates: int, max_lr: float, seed: int
) -> dict[str, Any]:
    """Return what one training run led to."""
    torch.manual_seed(seed)
    model = build(name, vocab_size, weights=weights)
    losses = fit_translation(model, train, updates=updates, max_lr=max_lr, seed=seed, batch=32)
    means = [sum(losses[i : i + EVERY]) / EVERY for i in range(0, len(losses), EVERY)]
    return {
        "max_lr": max_lr,
        "seed": seed,
        "parameters": count_parameters(model),
        "d_ff": model.config.d_ff,
        "training": [round(loss, 4) for loss in means],
        "loss": round(next_token_loss(model, held_out.ids, held_out.counted).item(), 4),
        "right": round(share_right(model, held_out), 4),
    }


def main() -> None:
    """Train all stacks, and write the result."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=400, help="updates of a run (default: 400)")
    updates = begin(parser).updates
    train, held_out, vocabulary = translation_texts(4000)
    weights = count_parameters(build("2017", vocabulary.vocab_size))
    stacks: dict[str, list[dict[str, Any]]] = {}
    for name in LADDER:
        stacks[name] = []
        for max_lr in RATES:
            for seed in SEEDS:
                found = run(
                    name, train, held_out, vocab_size=vocabulary.vocab_size, weights=weights, updates=updates,
                    max_lr=max_lr, seed=seed,
                )  # fmt: skip
                stacks[name].append(found)
                shown = {key: value for key, value in found.items() if key != "training"}
                print(name, shown, flush=True)
    results = {"updates": updates, "every": EVERY, "rates": RATES, "held_out": len(held_out.ids), "stacks": stacks}
    write_result(RESULTS / "modern_stacks.json", seed=SEEDS[0], results=results)


if __name__ == "__main__":
    main()
