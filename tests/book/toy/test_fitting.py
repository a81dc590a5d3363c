"""The training loop of the toy models."""

import pytest
import torch
from torch import nn

from annotated_transformer.book.toy.fitting import fit, rise_stay_fall


class Weight(nn.Module):
    """A single weight, which starts at 0."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros((), dtype=torch.float64))


def test_law_each_step_has_its_own_rate_and_the_last_update_is_made():
    """With the same gradient at each update, Adam moves a weight by the learning rate."""
    model, seen = Weight(), []
    fit(
        model,
        lambda: model.weight * 1.0,
        steps=4,
        lr=lambda step: 0.1 + step,
        after_step=lambda done: seen.append((done, model.weight.item())),
    )
    assert [done for done, _ in seen] == [1, 2, 3, 4]
    moved = [before - after for (_, before), (_, after) in zip([(0, 0.0), *seen], seen, strict=False)]
    assert moved == pytest.approx([0.1, 1.1, 2.1, 3.1], rel=1e-6)


def test_law_the_rate_rises_for_30_updates_stays_until_half_and_falls_to_zero():
    wanted = {0: 1 / 30, 14: 0.5, 29: 1, 30: 1, 100: 1, 150: 0.5, 199: 0.01, 200: 0}
    assert {step: rise_stay_fall(step, 200) for step in wanted} == pytest.approx(wanted, rel=1e-9)


def test_law_the_losses_are_those_before_each_update():
    model = Weight()
    losses = fit(model, lambda: model.weight - 3, steps=3, lr=0.5)
    assert losses == pytest.approx([-3, -3.5, -4], rel=1e-6)


@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.8, 0.5)])
def test_oracle_training_is_pytorchs_adam(betas: tuple[float, float]):
    """The gradients differ from step to step, so one that is not cleared, or other betas, would show."""
    factors, model, other = [3.0, -1.0, 0.5, 2.0], Weight(), Weight()
    draws, adam = iter(factors), torch.optim.Adam(other.parameters(), lr=0.1, betas=betas)
    fit(model, lambda: (model.weight - next(draws)).square(), steps=4, lr=0.1, betas=betas)
    for factor in factors:
        (other.weight.grad,) = torch.autograd.grad((other.weight - factor).square(), other.weight)
        adam.step()
    assert model.weight.item() == pytest.approx(other.weight.item(), rel=1e-9)


def test_law_without_steps_nothing_is_drawn():
    assert fit(Weight(), lambda: pytest.fail("drawn"), steps=0, lr=0.1) == []
