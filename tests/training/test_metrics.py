"""The metrics of a report: the means over its own epoch."""

import dataclasses
import math

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.text.batching import make_batches
from annotated_transformer.training.trainer import train
from tests.small_training import BRIEF, model, rng


@pytest.mark.parametrize("accumulate", [1, 3])
def test_oracle_a_report_has_the_means_of_its_own_epoch(copy_pairs, accumulate: int):
    """The learning rate is too low to change weights, so each batch's loss and gradient can be recomputed."""
    one, pairs, order = model().double(), copy_pairs(23, seed=0), rng()
    epochs = [make_batches(pairs, batch_tokens=53, generator=order) for _ in range(2)]
    updates = sum(math.ceil(len(batches) / accumulate) for batches in epochs)
    config = dataclasses.replace(BRIEF, steps=updates, max_lr=1e-300, accumulate=accumulate)
    reports = train(one, pairs, config, generator=rng())
    for report, batches in zip(reports, epochs, strict=True):
        losses, norms, labels = [], [], []
        for first in range(0, len(batches), accumulate):
            parts = batches[first : first + accumulate]
            logits = torch.cat([one(part.src, part.tgt[:, :-1]).flatten(0, 1) for part in parts])
            targets = torch.cat([part.tgt[:, 1:].flatten() for part in parts])
            loss = F.cross_entropy(logits, targets, ignore_index=0, label_smoothing=0.1)
            gradient = torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(one.parameters()))])
            losses.append(loss.item())
            norms.append(gradient.norm().item())
            labels.append(sum(part.num_labels for part in parts))
        per_label = sum(loss * n for loss, n in zip(losses, labels, strict=True)) / sum(labels)
        assert report.training_loss == pytest.approx(per_label, rel=1e-9)
        assert report.training_loss != pytest.approx(sum(losses) / len(losses), rel=1e-9)
        assert report.gradient_norm == pytest.approx(sum(norms) / len(norms), rel=1e-9)
