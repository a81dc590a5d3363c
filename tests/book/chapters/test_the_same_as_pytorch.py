"""The bounds on rounding hold, and so does the definition of a gap."""

from fractions import Fraction

import pytest
import torch

from annotated_transformer.book.chapters.the_same_as_pytorch.steps import relative_gap

UNITS = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.bfloat16: 2.0**-8}


def numbers(count: int, kind: torch.dtype) -> torch.Tensor:
    return torch.randn(count, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(kind)


def one_by_one(terms: torch.Tensor) -> torch.Tensor:
    total = torch.zeros((), dtype=terms.dtype)
    for term in terms:
        total = total + term
    return total


def in_pairs(terms: torch.Tensor) -> torch.Tensor:
    while len(terms) > 1:
        terms = terms[0::2] + terms[1::2]
    return terms[0]


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


@pytest.mark.equation("eq-gap")
def test_law_a_gap_is_the_largest_difference_over_the_largest_number():
    a, b = torch.tensor([1.0, -3.0, 8.0]), torch.tensor([1.5, -3.0, -10.0])
    assert relative_gap(a, b) == 1.8
    assert relative_gap(b, a) == 18 / 8
    assert relative_gap(a, a) == 0
