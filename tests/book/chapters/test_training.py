"""The losses and steps that the drawings of the chapter on training compute."""

import math
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.book.chapters.training import figures as figures


@pytest.mark.parametrize(("gap", "smoothing"), [(0.0, 0.1), (3.0, 0.1), (12.0, 0.4), (5.0, 0.0)])
def test_oracle_the_drawn_loss_is_pytorchs(gap: float, smoothing: float):
    logits = torch.zeros(1, 10, dtype=torch.float64)
    logits[0, 4] = gap
    theirs = F.cross_entropy(logits, torch.tensor([4]), label_smoothing=smoothing).item()
    assert figures.smoothed_loss(gap, smoothing, 10) == pytest.approx(theirs)


def test_law_the_smoothed_loss_is_smallest_at_the_best_gap():
    best = figures.best_gap(0.1, 10)
    low = figures.smoothed_loss(best, 0.1, 10)
    assert all(figures.smoothed_loss(best + move, 0.1, 10) > low for move in (-0.01, 0.01))
    assert figures.best_gap(0.0, 10) == math.inf


def test_oracle_the_steps_under_the_averages_are_those_of_pytorchs_adam():
    gradients = [1.0, -3.0, 0.5, 2.0]
    _, bottom = figures.draw_averages(gradients, (0.9, 0.98)).axes
    x = torch.zeros((), dtype=torch.float64, requires_grad=True)
    adam, places = torch.optim.Adam([x], lr=1.0, betas=(0.9, 0.98), eps=0.0), [0.0]
    for gradient in gradients:
        x.grad = torch.tensor(gradient, dtype=torch.float64)
        adam.step()
        places.append(x.item())
    theirs = [before - after for before, after in pairwise(places)]
    assert [bar.get_height() for bar in bottom.patches] == pytest.approx(theirs)
