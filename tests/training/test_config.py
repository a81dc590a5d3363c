"""Training settings and seeds: which ones are taken, and the error messages about the others."""

import itertools
import math

import pytest

from annotated_transformer.training.config import TrainingConfig, refuse_seed

pytestmark = pytest.mark.message


WHOLE = "steps", "batch_tokens", "patience", "warmup_steps", "accumulate"
REFUSED = [
    (WHOLE, (0, 2.5), ValueError, "not a positive whole number; give one"),
    (("minutes", "max_lr", "clip_norm"), (-1.0, 0.0, math.nan), ValueError, "not a positive number; give"),
    (("label_smoothing",), (1.0, -0.1, math.nan, "0.1"), ValueError, "not a probability; give 0 or more"),
    (("bf16", "fast"), ("no",), TypeError, "not a bool; give True or False"),
    (("steps",), ("3",), TypeError, "not a number; give a positive whole number"),
    (("max_lr", "minutes"), ("fast", True), TypeError, "not a number; give a positive number"),
]


@pytest.mark.parametrize(("names", "values", "error", "message"), REFUSED)
def test_message_a_setting_that_is_invalid(names, values, error, message: str):
    for name, value in itertools.product(names, values):
        with pytest.raises(error, match=f"^{name}={value!r} is {message}"):
            TrainingConfig(**{name: value})
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
