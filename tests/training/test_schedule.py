"""The learning rate matches values of the paper's formula that were computed separately."""

import pytest

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
