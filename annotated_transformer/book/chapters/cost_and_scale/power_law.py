"""A power law through a few models' losses, for extrapolating to a larger one."""

import math
from collections.abc import Sequence
from typing import NamedTuple


class PowerLaw(NamedTuple):
    r"""A loss $a N^{-b}$ as a function of a size $N$: a straight line if both axes are logarithmic."""

    factor: float
    exponent: float

    def __call__(self, size: float | int) -> float:
        """Return the loss that the law predicts."""
        return float(self.factor * size**-self.exponent)


def fit_power_law(sizes: Sequence[float | int], losses: Sequence[float | int]) -> PowerLaw:
    """Return the law with the least squared error of the logarithms.

    Raises:
        ValueError: If there are fewer than two different sizes, or a size or loss is not positive.
    """
    if len(set(sizes)) < 2 or len(sizes) != len(losses):
        raise ValueError(
            f"a line needs two different sizes, each with a loss, but there are {len(sizes)} sizes "
            f"({len(set(sizes))} different) and {len(losses)} losses; add models"
        )
    if min(*sizes, *losses) <= 0:
        raise ValueError(f"{min(*sizes, *losses)} has no logarithm; give positive sizes and losses")
    across, up = [math.log(size) for size in sizes], [math.log(loss) for loss in losses]
    middle, height = sum(across) / len(across), sum(up) / len(up)
    slope = sum((x - middle) * (y - height) for x, y in zip(across, up, strict=True)) / sum(
        (x - middle) ** 2 for x in across
    )
    return PowerLaw(math.exp(height - slope * middle), -slope)
