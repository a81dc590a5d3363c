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


def test_law_the_rate_rises_linearly_and_falls_with_the_inverse_square_root():
    assert learning_rate(2000) == pytest.approx(2000 * learning_rate(1))
    assert learning_rate(16_000) == pytest.approx(learning_rate(4000) / 2)
    assert max(range(1, 20_000), key=learning_rate) == 4000


def test_law_max_lr_scales_the_schedule_without_changing_its_shape():
    highest = learning_rate(401, d_model=128, warmup_steps=401)
    for step in (1, 7, 401, 9973):
        plain = learning_rate(step, d_model=128, warmup_steps=401)
        found = learning_rate(step, d_model=128, warmup_steps=401, max_lr=3e-3)
        assert found == pytest.approx(3e-3 * plain / highest)


@pytest.mark.message
def test_message_a_step_before_the_first_and_no_warm_up():
    for step in (0, -3):
        with pytest.raises(ValueError, match=f"step={step}, but steps count from 1"):
            learning_rate(step)
    with pytest.raises(ValueError, match="warmup_steps=0, but the rate needs at least one step to rise"):
        learning_rate(1, warmup_steps=0)
