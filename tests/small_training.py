"""Helpers for the training tests: a model that learns in seconds, and a config with few steps."""

import dataclasses

import torch

from annotated_transformer import TrainingConfig, Transformer, TransformerConfig

VOCAB = 17
SHAPE = TransformerConfig(
    vocab_size=VOCAB, max_length=67, num_layers=1, d_model=32, d_ff=64, num_heads=4, dropout=0.0
)
BRIEF = TrainingConfig(steps=7, batch_tokens=53, warmup_steps=3, max_lr=1e-2, fast=False)


def model(seed: int = 0, **changes: object) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(dataclasses.replace(SHAPE, **changes))


def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)
