"""The update that the chapter shows is that of `train`."""

import dataclasses

import torch

from annotated_transformer import TrainingConfig, train
from annotated_transformer.book.chapters.training.one_update import one_update
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import make_batches
from tests.fixtures import TRAINED


def test_oracle_three_updates_lead_to_the_weights_of_train():
    pairs = [([3, 4, 5, 2], [1, 4, 3, 2]), ([6, 2], [1, 7, 8, 9, 2])]
    ours, theirs = (Transformer(dataclasses.replace(TRAINED, dropout=0.0)).double() for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    (batch,) = make_batches(pairs, batch_tokens=100)
    optimizer = torch.optim.Adam(ours.parameters(), betas=(0.9, 0.98), eps=1e-9)
    losses = [one_update(ours, optimizer, batch, t, warmup_steps=2, max_lr=0.01) for t in (1, 2, 3)]
    config = TrainingConfig(steps=3, warmup_steps=2, max_lr=0.01)
    train(theirs, pairs, config, generator=torch.Generator())
    assert losses[2] < losses[0]
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-9)
