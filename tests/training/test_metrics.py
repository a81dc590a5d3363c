"""The metrics of a report: the means over its own epoch."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.text.batching import make_batches
from annotated_transformer.training.trainer import train
from tests.small_training import BRIEF, model, rng


def test_oracle_a_report_has_the_means_of_its_own_epoch(copy_pairs):
    """The learning rate is too low to change weights, so each batch's loss and gradient can be recomputed."""
    one, pairs, order = model().double(), copy_pairs(23, seed=0), rng()
    epochs = [make_batches(pairs, batch_tokens=53, generator=order) for _ in range(2)]
    config = dataclasses.replace(BRIEF, steps=sum(map(len, epochs)), max_lr=1e-300)
    reports = train(one, pairs, config, generator=rng())
    for report, batches in zip(reports, epochs, strict=True):
        losses, norms, labels = [], [], [batch.num_labels for batch in batches]
        for batch in batches:
            logits = one(batch.src, batch.tgt[:, :-1]).flatten(0, 1)
            loss = F.cross_entropy(logits, batch.tgt[:, 1:].flatten(), ignore_index=0, label_smoothing=0.1)
            gradient = torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(one.parameters()))])
            losses.append(loss.item())
            norms.append(gradient.norm().item())
        per_label = sum(loss * n for loss, n in zip(losses, labels, strict=True)) / sum(labels)
        assert report.training_loss == pytest.approx(per_label, rel=1e-9)
        assert report.training_loss != pytest.approx(sum(losses) / len(losses), rel=1e-9)
        assert report.gradient_norm == pytest.approx(sum(norms) / len(norms), rel=1e-9)
