"""Training settings and seeds: which ones are taken, and the error messages about the others."""

import math

import pytest

from annotated_transformer.training.config import TrainingConfig, refuse_seed


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
        ("clip_norm", 0.0),
        ("patience", 0),
    ],
)
def test_message_settings_that_are_not_positive_numbers(name: str, value: float):
    with pytest.raises(ValueError, match=rf"{name}={value} is not a positive (whole )?number; give one"):
        TrainingConfig(**{name: value})


@pytest.mark.message
def test_message_no_limit():
    with pytest.raises(ValueError, match="steps=None and minutes=None: training would never end; give one"):
        TrainingConfig(steps=None)


@pytest.mark.message
@pytest.mark.parametrize("value", [1.0, -0.1, math.nan, "0.1"])
def test_message_label_smoothing_that_is_not_a_probability(value: object):
    sentence = f"label_smoothing={value!r} is not a probability; give 0 or more, below 1"
    with pytest.raises(ValueError, match=sentence):
        TrainingConfig(label_smoothing=value)


@pytest.mark.message
@pytest.mark.parametrize("name", ["bf16", "fast"])
def test_message_a_switch_that_is_neither_true_nor_false(name: str):
    with pytest.raises(TypeError, match=f"^{name}='no' is not a bool; give True or False"):
        TrainingConfig(**{name: "no"})


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


def test_law_every_seed_of_32_bits_is_taken():
    for seed in (0, 2**32 - 1):
        refuse_seed(seed)


@pytest.mark.message
@pytest.mark.parametrize("seed", [-1, 2**32, 2**64])
def test_message_a_seed_of_more_than_32_bits(seed: int):
    """It would give the same numbers as another seed: `2 ** 32` the same as 0."""
    sentence = rf"seed={seed}, of which .* the last 32 bits, {seed % 2**32}; give 0 to 4294967295"
    with pytest.raises(ValueError, match=sentence):
        refuse_seed(seed)
