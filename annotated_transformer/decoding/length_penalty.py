"""Length penalties, which make hypotheses of different lengths comparable: section 6.1 of the paper."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from annotated_transformer.kinds import refuses_other_kinds

LengthPenalty = Callable[[Tensor], Tensor]
"""Maps lengths, including EOS, to the divisors of log-probabilities; must not fall with the length."""


@dataclass(frozen=True)
class _Power:
    alpha: float

    def __post_init__(self) -> None:
        if not self.alpha >= 0:
            raise ValueError(f"alpha={self.alpha!r} would reward short targets; give 0 (no penalty) or more")
        if self.alpha == math.inf:
            raise ValueError(
                f"alpha={self.alpha!r} makes all results 0; give a number, such as the paper's 0.6"
            )


@refuses_other_kinds
@dataclass(frozen=True)
class GnmtLength(_Power):
    r"""The length penalty of the paper, by Wu et al. (2016): $lp(L) = ((5 + L)/6)^\alpha$, $\alpha = 0.6$."""

    alpha: float = 0.6

    def __call__(self, length: Tensor) -> Tensor:
        """Return the divisor for each length."""
        return ((5 + length) / 6) ** self.alpha


@refuses_other_kinds
@dataclass(frozen=True)
class PlainLength(_Power):
    r"""The length itself, $L^\alpha$: with $\alpha = 1$ the result is the mean over the tokens."""

    alpha: float = 1.0

    def __call__(self, length: Tensor) -> Tensor:
        """Return the divisor for each length."""
        return length**self.alpha
