"""What measures rounding is exact."""

import math
from fractions import Fraction

import pytest
import torch

from annotated_transformer.book.chapters.the_same_as_pytorch.rounding import (
    UNITS,
    in_pairs,
    one_by_one,
    relative_error,
    ulps_apart,
)
from annotated_transformer.book.chapters.the_same_as_pytorch.steps import relative_gap


def numbers(count: int, kind: torch.dtype) -> torch.Tensor:
    return torch.randn(count, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(kind)


@pytest.mark.equation("eq-rounding")
@pytest.mark.parametrize("kind", UNITS)
def test_law_one_operation_is_rounded_by_at_most_the_unit_roundoff(kind):
    a, b = numbers(200, kind).split(100)
    errors = []
    for x, y in zip(a, b, strict=True):
        exact = Fraction(x.item()) + Fraction(y.item())
        errors.append(abs(Fraction((x + y).item()) - exact) / abs(exact) if exact else 0)
    assert max(errors) <= UNITS[kind]
    assert max(errors) > UNITS[kind] / 10  # the bound is not far off


@pytest.mark.equation("eq-sum-error")
@pytest.mark.parametrize(("add", "roundings"), [(one_by_one, 1023), (in_pairs, 10)])
def test_law_a_sum_errs_by_at_most_its_roundings(add, roundings):
    terms = numbers(1024, torch.float32)
    exact = sum(Fraction(x) for x in terms.tolist())
    error = abs(Fraction(add(terms).item()) - exact)
    size = sum(abs(Fraction(x)) for x in terms.tolist())
    assert 0 < error <= roundings * UNITS[torch.float32] * size
    assert relative_error(add(terms), terms) == pytest.approx(float(error / size), rel=1e-6)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_law_ulps_count_the_numbers_from_one_to_the_other(kind):
    a = torch.tensor([1.0, -1.0, 2.0, 0.0, 1e30], dtype=kind)
    b = a.clone()
    for _ in range(3):
        b = torch.nextafter(b, torch.tensor(math.inf, dtype=kind))
    assert ulps_apart(a, b).tolist() == ulps_apart(b, a).tolist() == [3] * 5
    assert ulps_apart(a, a).tolist() == [0] * 5
    tiny = torch.nextafter(torch.zeros(1, dtype=kind), torch.ones(1, dtype=kind))
    assert ulps_apart(-tiny, tiny).tolist() == [2]  # across zero


@pytest.mark.equation("eq-gap")
def test_law_a_gap_is_the_largest_difference_over_the_largest_number():
    a, b = torch.tensor([1.0, -3.0, 8.0]), torch.tensor([1.5, -3.0, -10.0])
    assert relative_gap(a, b) == 1.8
    assert relative_gap(b, a) == 18 / 8
    assert relative_gap(a, a) == 0
