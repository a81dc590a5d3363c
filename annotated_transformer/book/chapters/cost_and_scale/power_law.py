"""A power law through a few models' losses, for extrapolating to a larger one."""

import math
from collections.abc import Sequence
from typing import NamedTuple

Numbers = Sequence[float | int]


class PowerLaw(NamedTuple):
    r"""A loss $a N^{-b}$ as a function of a size $N$: a straight line if both axes are logarithmic."""

    factor: float
    exponent: float

    def __call__(self, size: float | int) -> float:
        """Return the loss that the law predicts."""
        return float(self.factor * size**-self.exponent)


def fit_power_law(sizes: Numbers, losses: Numbers) -> PowerLaw:
    """Return the law with the least squared error of the logarithms."""
    across, up = [math.log(size) for size in sizes], [math.log(loss) for loss in losses]
    middle, height = sum(across) / len(across), sum(up) / len(up)
    both = sum((x - middle) * (y - height) for x, y in zip(across, up, strict=True))
    slope = both / sum((x - middle) ** 2 for x in across)
    return PowerLaw(math.exp(height - slope * middle), -slope)
