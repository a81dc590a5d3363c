"""What the warm-up is for: six post-norm layers learn nothing without it, pre-norm learns fastest."""

import math
from typing import Literal

import torch

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import make_batches
from annotated_transformer.text.toy_tasks import FIRST_SYMBOL, reverse_pairs
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.evaluation import mean_loss
from annotated_transformer.training.trainer import train

SYMBOLS, LENGTH, STEPS, BATCH = 10, 8, 150, 64
# Who knows that EOS comes last, and of the symbols nothing, pays ln(10) for eight labels of nine.
GUESSING = LENGTH / (LENGTH + 1) * math.log(SYMBOLS)


def loss_after(norm: Literal["post", "pre"], warmup_steps: int) -> float:
    """Return the loss on unseen sequences after one epoch of the reverse task."""
    torch.manual_seed(0)
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
    model, rng = Transformer(config), torch.Generator().manual_seed(0)
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
    assert loss_after("post", warmup_steps=1) > GUESSING
    assert loss_after("post", warmup_steps=75) < 0.9 * GUESSING
    assert loss_after("pre", warmup_steps=75) < 0.1 * GUESSING
