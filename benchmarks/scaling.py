"""How does the loss on the toy language fall with the width of the model? Chapter 21 fits a law to it.

    python -m benchmarks.scaling --updates 100

Each model is trained for some updates, each on new sentences, with each learning rate of a grid. The rate of
a width is the one with the lowest mean loss over the seeds on one set of held-out sentences; the loss
reported is that on another set.
"""

import torch

from annotated_transformer import Transformer, TransformerConfig
from annotated_transformer.book.toy.fitting import fit
from annotated_transformer.fast.modules import fast_modules
from annotated_transformer.text import make_batches
from annotated_transformer.text.batching import Pair
from annotated_transformer.text.toy.pairs import WordVocabulary, toy_pairs
from annotated_transformer.training import label_smoothed_cross_entropy, mean_loss
from annotated_transformer.training.schedule import BETAS
from benchmarks.record import begin, write_result

WIDTHS, RATES, SEEDS = (8, 16, 32, 64, 128), (0.16, 0.08, 0.04, 0.02, 0.01, 0.005, 0.0025), (0, 1, 2)
WARMUP, BATCH, HELD_OUT = 0.2, 32, 500  # the warm-up is a share of the updates


def model_of(width: int, vocab_size: int, seed: int) -> Transformer:
    """Return a model with one encoder and one decoder layer and heads that are 8 wide."""
    torch.manual_seed(seed)
    shape = TransformerConfig(
        vocab_size=vocab_size, max_length=32, num_layers=1, d_model=width, d_ff=4 * width,
        num_heads=width // 8, dropout=0.0, norm="pre",
    )  # fmt: skip
    return Transformer(shape)


def train(model: Transformer, pairs: list[Pair], highest: float) -> None:
    """Make one update for each 32 pairs; the rate rises, stays, and falls over the second half of the run."""
    updates = len(pairs) // BATCH
    batches = iter(
        batch
        for start in range(0, len(pairs), BATCH)
        for batch in make_batches(pairs[start : start + BATCH], batch_tokens=10**6)
    )

    def rate_of(step: int) -> float:
        done = (step + 1) / updates
        return highest * min(1.0, done / WARMUP, 2 - 2 * done)

    def draw_loss() -> torch.Tensor:
        batch = next(batches)
        logits = model(batch.src, batch.decoder_input)
        return label_smoothed_cross_entropy(logits, batch.labels, smoothing=0.0, pad_id=0)

    with fast_modules(model):
        fit(model, draw_loss, steps=updates, lr=rate_of, betas=BETAS)


def measure(width: int, updates: int, sets: list[list[Pair]], vocab_size: int) -> dict[str, object]:
    """Train a width with each rate and seed; return its sizes, its best rate, and the loss of each seed."""
    held_out = [make_batches(pairs, batch_tokens=4096) for pairs in sets[:2]]
    losses: dict[float, list[tuple[float, float]]] = {rate: [] for rate in RATES}
    for highest in RATES:
        for seed in SEEDS:
            model = model_of(width, vocab_size, seed)
            start = seed * BATCH * updates
            train(model, sets[2][start : start + BATCH * updates], highest)
            chosen, reported = (mean_loss(model, batches) for batches in held_out)
            losses[highest].append((chosen, reported))
    best = min(losses, key=lambda highest: sum(chosen for chosen, _ in losses[highest]))
    return {
        "width": width,
        "weights": sum(p.numel() for p in model.parameters()),
        "embeddings": model.embedding.weight.numel(),
        "rate": best,
        "losses": [reported for _, reported in losses[best]],
        "by_rate": {str(rate): [reported for _, reported in pairs] for rate, pairs in losses.items()},
    }


def main() -> None:
    """Train all models and write the result."""
    options = begin(__doc__, updates=100)
    pairs = toy_pairs(2 * HELD_OUT + len(SEEDS) * options.updates * BATCH)
    vocabulary = WordVocabulary([text for pair in pairs for text in (pair.source, pair.target)])
    encoded = [vocabulary.encode(pair) for pair in pairs]
    sets = [encoded[:HELD_OUT], encoded[HELD_OUT : 2 * HELD_OUT], encoded[2 * HELD_OUT :]]
    rows = []
    for width in WIDTHS:
        rows.append(measure(width, options.updates, sets, vocabulary.vocab_size))
        print(rows[-1], flush=True)
    results = {"seeds": SEEDS, "updates": options.updates, "rows": rows}
    write_result(f"scaling_toy-{options.updates}", results, seed=SEEDS[0])


if __name__ == "__main__":
    main()
