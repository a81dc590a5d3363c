"""The schedule by which the toy models are trained."""

import pytest
import torch
from torch import nn

from annotated_transformer.book.toy.fitting import fit_toy


def test_law_the_rate_rises_for_30_updates_stays_until_half_and_falls_to_zero():
    """With the same gradient at each update, Adam moves a weight by the learning rate."""
    model, seen = nn.Linear(1, 1, bias=False).double(), []

    def draw_loss() -> torch.Tensor:
        seen.append(model.weight.item())
        return model.weight.sum()

    fit_toy(model, draw_loss, updates=200, max_lr=0.5)
    rates = [before - after for before, after in zip(seen, [*seen[1:], model.weight.item()], strict=True)]
    wanted = {0: 0.5 / 30, 14: 0.25, 29: 0.5, 30: 0.5, 100: 0.5, 150: 0.25, 199: 0.005}
    assert [rates[update] for update in wanted] == pytest.approx(list(wanted.values()), rel=1e-6)
    assert not model.training
