"""Length penalties: the published values, and no reward for short targets."""

import math

import pytest
import torch

from annotated_transformer.decoding.length_penalty import GnmtLength, PlainLength

LENGTHS = torch.tensor([1.0, 4.0, 10.0, 31.0], dtype=torch.float64)


@pytest.mark.equation("eq-length-penalty")
def test_oracle_penalties_match_their_formulas():
    expected = [1.0, 1.5**0.6, 1.733, 6**0.6]  # lp(L) = ((5 + L) / 6) ** 0.6
    assert GnmtLength()(LENGTHS).tolist() == pytest.approx(expected, abs=5e-4)
    assert GnmtLength(1.0)(LENGTHS).tolist() == pytest.approx([1, 1.5, 2.5, 6])
    assert PlainLength()(LENGTHS).tolist() == LENGTHS.tolist()
    assert PlainLength(0.75)(LENGTHS)[2].item() == pytest.approx(5.62, abs=5e-3)


@pytest.mark.message
@pytest.mark.parametrize("kind", [GnmtLength, PlainLength])
def test_message_an_alpha_that_would_reward_short_targets_or_is_infinite(kind: type):
    for alpha in (-0.1, math.nan):
        sentence = rf"alpha={alpha} would reward short targets; give 0 \(no penalty\)"
        with pytest.raises(ValueError, match=sentence):
            kind(alpha)
    with pytest.raises(ValueError, match=r"alpha=inf makes all results 0; give a number, .* 0\.6"):
        kind(math.inf)
