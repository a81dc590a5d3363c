"""What the warm-up is for: six post-norm layers learn nothing without it, pre-norm learns fastest."""

import math
import statistics
from typing import Literal

import torch

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import make_batches
from annotated_transformer.text.toy_tasks import FIRST_SYMBOL, reverse_pairs
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.evaluation import mean_loss
from annotated_transformer.training.trainer import train

SYMBOLS, LENGTH, STEPS, BATCH = 10, 8, 250, 128
SYMBOLS_SHARE = LENGTH / (LENGTH + 1)  # of the labels; the last one is EOS, which is soon known


def loss_after(norm: Literal["post", "pre"], warmup_steps: int, seed: int) -> float:
    """Return the loss on unseen sequences after one epoch of the reverse task."""
    torch.manual_seed(seed)
    config = TransformerConfig(
        vocab_size=FIRST_SYMBOL + SYMBOLS,
        max_length=64,
        num_layers=6,
        d_model=32,
        d_ff=64,
        num_heads=2,
        dropout=0.0,
        norm=norm,
    )
    model, rng = Transformer(config), torch.Generator().manual_seed(seed)
    count, lengths = STEPS * BATCH, range(LENGTH, LENGTH + 1)
    pairs = reverse_pairs(count + 499, symbols=SYMBOLS, lengths=lengths, generator=rng)
    settings = TrainingConfig(
        steps=STEPS,
        batch_tokens=BATCH * (LENGTH + 2),
        warmup_steps=warmup_steps,
        peak=1e-2,
        label_smoothing=0.0,
    )
    train(model, pairs[:count], settings, generator=rng)
    return mean_loss(model, make_batches(pairs[count:], batch_tokens=10_007))


def test_law_post_norm_needs_the_warm_up_and_pre_norm_learns_faster():
    """Ask three seeds and their medians: where both post-norm runs of a seed fail, their order is chance."""
    without, warmed_up, pre = (
        [loss_after(norm, steps, seed) for seed in range(3)]
        for norm, steps in (("post", 1), ("post", 75), ("pre", 75))
    )
    assert all(c < min(a, b) for a, b, c in zip(without, warmed_up, pre, strict=True))
    assert statistics.median(without) > SYMBOLS_SHARE * math.log(SYMBOLS)  # it guesses
    assert statistics.median(warmed_up) < SYMBOLS_SHARE * 1.0
    assert max(pre) < SYMBOLS_SHARE * 0.1
