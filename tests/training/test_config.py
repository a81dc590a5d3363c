"""Error messages about invalid training settings."""

import math

import pytest

from annotated_transformer.training.config import TrainingConfig


@pytest.mark.message
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 0),
        ("steps", 2.5),
        ("batch_tokens", 3.5),
        ("minutes", -1.0),
        ("minutes", math.nan),
        ("batch_tokens", 0),
        ("warmup_steps", 0),
        ("max_lr", 0.0),
    ],
)
def test_message_settings_that_are_not_positive_numbers(name: str, value: float):
    with pytest.raises(ValueError, match=rf"{name}={value} is not a positive (whole )?number; give one"):
        TrainingConfig(**{name: value})


@pytest.mark.message
def test_message_no_limit():
    with pytest.raises(
        ValueError, match="steps=None and minutes=None: training would never end; give one of them"
    ):
        TrainingConfig(steps=None)


@pytest.mark.message
def test_message_label_smoothing_of_one():
    with pytest.raises(
        ValueError, match=r"label_smoothing=1\.0 is not a probability; give 0 or more, below 1"
    ):
        TrainingConfig(label_smoothing=1.0)


@pytest.mark.message
@pytest.mark.parametrize("name", ["steps", "batch_tokens", "warmup_steps"])
def test_message_a_setting_that_is_too_large(name: str):
    for value in (2**53, 10**400):
        with pytest.raises(ValueError, match=f"^{name}={value} is too large; give a number below {2**53:,}"):
            TrainingConfig(**{name: value})


@pytest.mark.message
@pytest.mark.parametrize(("name", "value"), [("steps", "3"), ("max_lr", "fast"), ("minutes", True)])
def test_message_a_setting_of_another_type(name: str, value: object):
    with pytest.raises(TypeError, match=f"^{name}={value!r} is not a number; give a positive "):
        TrainingConfig(**{name: value})
