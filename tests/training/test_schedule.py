"""Section 5.3: Adam, and learning rates that were computed separately by the paper's formula."""

import pytest
import torch

from annotated_transformer.training.schedule import learning_rate


@pytest.mark.equation("eq-learning-rate")
@pytest.mark.parametrize(
    ("step", "d_model", "rate"),
    [(1, 512, 1.7469e-7), (4000, 512, 6.9877e-4), (4000, 1024, 4.9411e-4), (300_000, 1024, 5.705e-5)],
)
def test_oracle_learning_rates_match_the_papers_formula(step: int, d_model: int, rate: float):
    assert learning_rate(step, d_model=d_model) == pytest.approx(rate, rel=1e-4)


@pytest.mark.message
def test_message_a_step_before_the_first_and_no_warm_up():
    for step in (0, -3):
        with pytest.raises(ValueError, match=f"step={step}, but steps count from 1"):
            learning_rate(step)
    with pytest.raises(ValueError, match="warmup_steps=0, but the rate needs at least one step to rise"):
        learning_rate(1, warmup_steps=0)


@pytest.mark.equation("eq-adam")
def test_oracle_adam_is_pytorchs():
    rng = torch.Generator().manual_seed(0)
    theirs = torch.randn(5, generator=rng, dtype=torch.float64).requires_grad_()
    optimizer = torch.optim.Adam([theirs], lr=0.1, betas=(0.9, 0.98), eps=1e-3)
    ours = theirs.detach().clone()
    m = v = torch.zeros(5, dtype=torch.float64)
    for t in range(1, 12):
        theirs.grad = torch.randn(5, generator=rng, dtype=torch.float64)
        optimizer.step()
        m, v = 0.9 * m + 0.1 * theirs.grad, 0.98 * v + 0.02 * theirs.grad**2
        ours = ours - 0.1 * (m / (1 - 0.9**t)) / ((v / (1 - 0.98**t)).sqrt() + 1e-3)
        torch.testing.assert_close(ours, theirs.detach(), rtol=1e-12, atol=1e-12)
