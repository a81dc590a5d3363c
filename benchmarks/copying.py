"""How many words does one vector repeat when it is trained for longer? And all states?

    python -m benchmarks.copying

The task, the models, and the settings are those of chapter 1, which trains for 60 updates, in a few cases
for more. Each budget is a training run of its own, because the learning rate falls to 0 over the budget.
"""

import torch
import torch.nn.functional as F

from annotated_transformer.book.chapters.why_attention.copy_task import AverageCopier, VectorCopier
from annotated_transformer.book.toy.fitting import fit
from benchmarks.record import begin, write_result

VOCAB, BATCH, LEARNING_RATE = 8, 64, 0.1
# The model, the numbers in the vector or in each state, the words, and the budgets in updates.
CASES = (
    (AverageCopier, 4, 32, (60, 120)),
    (AverageCopier, 4, 64, (60, 120)),
    (AverageCopier, 4, 128, (60, 120)),
    (VectorCopier, 8, 8, (60, 600, 2_000, 6_000, 20_000)),
    (VectorCopier, 16, 16, (60, 600, 2_000, 6_000, 20_000)),
    (VectorCopier, 32, 32, (60, 600, 2_000, 6_000)),
)
SEEDS = (0, 1, 2, 3, 4)


def train(kind: type[AverageCopier | VectorCopier], words: int, size: int, updates: int, seed: int) -> float:
    """Train a model to repeat sentences; return its share of correct words on 500 new ones."""
    rng = torch.Generator().manual_seed(seed)
    model = kind(VOCAB, words, size, rng=rng)

    def draw_loss() -> torch.Tensor:
        sentences = torch.randint(VOCAB, (BATCH, words), generator=rng)
        return F.cross_entropy(model(sentences).flatten(0, 1), sentences.flatten())

    fit(model, draw_loss, steps=updates, lr=lambda step: LEARNING_RATE * (1 - step / updates))
    sentences = torch.randint(VOCAB, (500, words), generator=rng)
    return float((model(sentences).argmax(dim=-1) == sentences).double().mean())


def main() -> None:
    """Train each model for each budget with each seed, and write the result."""
    begin(__doc__)
    torch.set_default_dtype(torch.float64)  # as in the chapter
    cases: list[dict[str, object]] = []
    for kind, size, words, budgets in CASES:
        shares = {
            str(updates): [train(kind, words, size, updates, seed) for seed in SEEDS] for updates in budgets
        }
        cases.append({"model": kind.__name__, "size": size, "words": words, "shares": shares})
        print(cases[-1], flush=True)
    write_result("copying_vocab-8", {"seeds": SEEDS, "cases": cases}, seed=SEEDS[0])


if __name__ == "__main__":
    main()
