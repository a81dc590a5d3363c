"""Training settings and seeds: which ones are taken, and the error messages about the others."""

import math

import pytest

from annotated_transformer.training.config import TrainingConfig, refuse_seed

pytestmark = pytest.mark.message


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *(
            (name, 0, "not a positive whole number; give one")
            for name in ("steps", "batch_tokens", "patience")
        ),
        ("warmup_steps", 0, "not a positive whole number; give one"),
        ("steps", 2.5, "not a positive whole number; give one"),
        ("batch_tokens", 3.5, "not a positive whole number; give one"),
        ("accumulate", 0, "not a positive whole number; give one"),
        ("minutes", -1.0, "not a positive number; give one"),
        ("minutes", math.nan, "not a positive number; give one"),
        ("max_lr", 0.0, "not a positive number; give one"),
        ("clip_norm", 0.0, "not a positive number; give one"),
        *(
            ("label_smoothing", x, "not a probability; give 0 or more, below 1")
            for x in (1.0, -0.1, math.nan, "0.1")
        ),
        *((name, 2**53, f"too large; give a number below {2**53:,}") for name in ("steps", "warmup_steps")),
        ("batch_tokens", 10**400, f"too large; give a number below {2**53:,}"),
    ],
)
def test_message_a_setting_that_is_invalid(name: str, value: object, message: str):
    with pytest.raises(ValueError, match=f"^{name}={value!r} is {message}$"):
        TrainingConfig(**{name: value})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("bf16", "no", "not a bool; give True or False"),
        ("fast", "no", "not a bool; give True or False"),
        ("steps", "3", "not a number; give a positive whole number"),
        ("max_lr", "fast", "not a number; give a positive number"),
        ("minutes", True, "not a number; give a positive number"),
    ],
)
def test_message_a_setting_of_another_type(name: str, value: object, message: str):
    with pytest.raises(TypeError, match=f"^{name}={value!r} is {message}"):
        TrainingConfig(**{name: value})


def test_message_no_limit():
    with pytest.raises(ValueError, match="steps=None and minutes=None: training would never end; give one o"):
        TrainingConfig(steps=None)


@pytest.mark.parametrize("seed", [-1, 2**32, 2**64])
def test_message_a_seed_of_more_than_32_bits(seed: int):
    """It would give the same numbers as another seed: `2 ** 32` the same as 0."""
    for taken in (0, 2**32 - 1):
        refuse_seed(taken)
    sentence = rf"seed={seed}, of which .* the last 32 bits, {seed % 2**32}; give 0 to 4294967295"
    with pytest.raises(ValueError, match=sentence):
        refuse_seed(seed)
