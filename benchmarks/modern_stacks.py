"""Does a decoder-only model of today's make translate the toy language better than one of 2017's?

    python -m benchmarks.modern_stacks

We train each stack of chapter 22's ladder, all with about the same number of parameters, with three
learning rates and three seeds, and measure the loss on held-out sentences, and how many are translated right.
"""

from itertools import product
from typing import Any

import torch

from annotated_transformer.book.chapters.from_here_to_modern_models.stacks import (
    LADDER,
    build_stack,
    count_parameters,
    fit_translation,
    share_translated,
    translation_texts,
)
from annotated_transformer.modern.language_model import next_token_loss
from benchmarks.record import begin, write_result

PAIRS, SEEDS = 4000, (0, 1, 2)
RATES = (0.01, 0.005, 0.02)  # the last one is too high for 2017's stack


def main() -> None:
    """Train all stacks, and write the result."""
    options = begin(__doc__, updates=400)
    stacks: dict[str, list[dict[str, Any]]] = {name: [] for name in LADDER}
    train, held_out, vocabulary = translation_texts(PAIRS)
    weights = count_parameters(build_stack("2017", vocabulary.vocab_size))
    for max_lr, name, seed in product(RATES, LADDER, SEEDS):
        torch.manual_seed(seed)
        model = build_stack(name, vocabulary.vocab_size, weights=weights)
        fit_translation(model, train, updates=options.updates, max_lr=max_lr, seed=seed, batch=32)
        run = {
            "max_lr": max_lr,
            "seed": seed,
            "parameters": count_parameters(model),
            "loss": round(next_token_loss(model, held_out.ids, held_out.counted).item(), 4),
            "right": round(share_translated(model, held_out), 4),
        }
        stacks[name].append(run)
        print(name, run, flush=True)
    results = {"updates": options.updates, "held_out": len(held_out.ids), "stacks": stacks}
    write_result("modern_stacks", results, seed=SEEDS[0])


if __name__ == "__main__":
    main()
