"""A fitted power law goes through points on a line, and least squares decides between others."""

import numpy as np
import pytest

from annotated_transformer.book.chapters.cost_and_scale.power_law import fit_power_law


@pytest.mark.equation("eq-power-law")
def test_oracle_the_fit_is_that_of_numpy():
    sizes, losses = [30, 110, 500, 7000], [3.0, 2.5, 1.1, 0.9]
    law = fit_power_law(sizes, losses)
    slope, height = np.polyfit(np.log(sizes), np.log(losses), 1)
    assert law.exponent == pytest.approx(-slope, rel=1e-12)
    assert law(123) == pytest.approx(np.exp(height) * 123**slope, rel=1e-12)


def test_law_a_power_law_is_found_again():
    law = fit_power_law([2, 3, 5], [7 * size**-0.3 for size in (2, 3, 5)])
    assert law == pytest.approx((7, 0.3))


@pytest.mark.message
def test_message_too_few_sizes():
    with pytest.raises(ValueError, match=r"there are 2 sizes \(1 different\) and 2 losses; add models"):
        fit_power_law([3, 3], [1.0, 2.0])


@pytest.mark.message
def test_message_no_logarithm():
    with pytest.raises(ValueError, match=r"-1\.5 has no logarithm; give positive sizes and losses"):
        fit_power_law([3, 5], [1.0, -1.5])
