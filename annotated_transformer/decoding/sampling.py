"""Targets drawn at random, as likely as the model finds them: the chapter on decoding.

A departure from the paper, which only searches. What makes the draw less adventurous is a
small class from scores to scores; `sample` applies those it is given in their order.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.decoding.greedy import generate
from annotated_transformer.decoding.kv_cache import KeyValueCache, MakeDecoder
from annotated_transformer.model.transformer import Transformer


@dataclass(frozen=True)
class Temperature:
    r"""Divide the scores by $\tau$: below 1 the likely gets likelier, above 1 less."""

    tau: float

    def __post_init__(self) -> None:
        """Refuse what does not divide."""
        if not 0 < self.tau < math.inf:
            raise ValueError(
                f"temperature tau={self.tau} is not a positive number; for the likeliest "
                f"token each time, which is tau towards 0, use greedy_search"
            )

    def __call__(self, logits: Float[Tensor, "rows vocab"]) -> Float[Tensor, "rows vocab"]:
        """Return the scores of the distribution at this temperature."""
        return logits / self.tau


@dataclass(frozen=True)
class TopK:
    """Leave only the `k` likeliest tokens (Fan et al., 2018)."""

    k: int

    def __post_init__(self) -> None:
        """Refuse to leave nothing."""
        if self.k < 1:
            raise ValueError(f"top-k with k={self.k} leaves no token; give 1 or more")

    def __call__(self, logits: Float[Tensor, "rows vocab"]) -> Float[Tensor, "rows vocab"]:
        r"""Return the scores, those of the others at $-\infty$."""
        best, index = logits.topk(min(self.k, logits.size(1)))
        return torch.full_like(logits, -math.inf).scatter(1, index, best)


@dataclass(frozen=True)
class TopP:
    """Leave the fewest tokens whose probabilities sum to `p` (Holtzman et al., 2020)."""

    p: float

    def __post_init__(self) -> None:
        """Refuse to leave nothing, or more than all."""
        if not 0 < self.p <= 1:
            raise ValueError(f"top-p with p={self.p} is not in (0, 1]; 1 leaves every token")

    def __call__(self, logits: Float[Tensor, "rows vocab"]) -> Float[Tensor, "rows vocab"]:
        r"""Return the scores, those of the others at $-\infty$."""
        rising, index = logits.softmax(dim=-1).sort(dim=-1)
        # From the unlikeliest on: needed are those whose sum exceeds what p leaves over.
        unneeded = rising.cumsum(dim=-1) <= 1 - self.p
        unneeded[:, -1] = False  # the likeliest, whatever the sum was rounded to
        return logits.masked_fill(unneeded.scatter(1, index, unneeded), -math.inf)


def sample(
    model: Transformer,
    src: Int[Tensor, "batch src_tokens"],
    *,
    generator: torch.Generator,
    logits_processors: Sequence[Callable[[Tensor], Tensor]] = (),
    decoder: MakeDecoder = KeyValueCache,
) -> Int[Tensor, "batch tgt_tokens"]:
    """Return, for each source, a target drawn token by token from the model's distribution.

    `logits_processors`, such as `(Temperature(0.7), TopK(10), TopP(0.9))`, change the scores in this
    order before each draw. One `generator` draws for all rows, so what a source gets depends on
    its company; how likely it gets it does not. See `generate` for what a target is.
    """

    def draw(logits: Float[Tensor, "rows vocab"]) -> Int[Tensor, " rows"]:
        for change in logits_processors:
            logits = change(logits)
        return torch.multinomial(logits.softmax(dim=-1), 1, generator=generator)[:, 0]

    return generate(model, src, draw, decoder)
