"""What rounding does: small formats, orders of a sum, and numbers in units of the last place."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

UNITS = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
INTEGERS = {torch.float64: torch.int64, torch.float32: torch.int32}


def small_floats(digits: int, low: int, high: int) -> list[float]:
    """Return the numbers with some binary digits from 2^low up to 2^high, in order."""
    half = 2 ** (digits - 1)
    each = [2.0**e * (half + m) / half for e in range(low, high) for m in range(half)]
    return [*each, 2.0**high]


def decimal_round(number: float | int, digits: int = 3) -> float:
    """Return a number rounded to some decimal digits, as in a calculation by hand."""
    return float(f"{float(number):.{digits}g}")  # halves go to the even digit where binary holds them


def one_by_one(numbers: Tensor) -> Tensor:
    """Return the sum of the last axis, from left to right, in the numbers' own type."""
    total = torch.zeros_like(numbers[..., 0])
    for place in range(numbers.size(-1)):
        total = total + numbers[..., place]
    return total


def in_pairs(numbers: Tensor) -> Tensor:
    """Return the sum of the last axis, whose length is a power of 2: pairs, then pairs of pairs."""
    while numbers.size(-1) > 1:
        numbers = numbers[..., 0::2] + numbers[..., 1::2]
    return numbers[..., 0]


def relative_error(total: Tensor, numbers: Tensor) -> float:
    """Return the largest error of a sum, relative to the sum of absolute values."""
    exact, size = numbers.double().sum(dim=-1), numbers.double().abs().sum(dim=-1)
    return ((total.double() - exact).abs() / size).max().item()


def ulps_apart(a: Float[Tensor, "*batch"], b: Float[Tensor, "*batch"]) -> Int[Tensor, "*batch"]:
    """Return how many floating-point numbers it takes from each number of `a` to that of `b`."""
    kind = INTEGERS[a.dtype]
    places = []
    for tensor in (a, b):
        bits = tensor.contiguous().view(kind)
        lowest = torch.iinfo(kind).min
        places.append(torch.where(bits < 0, lowest - bits, bits).long())  # in the order of the numbers
    return (places[0] - places[1]).abs()
