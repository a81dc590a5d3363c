"""Random seeds: which ones are taken."""

import pytest

from annotated_transformer.training.config import refuse_seed


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
