"""Sampling from the model's distribution: the chapter on decoding.

This is a departure from the paper, which only searches. Logits processors make a draw less random;
`sample` applies them in the given order.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.decoding.greedy import EXTRA_TOKENS, generate
from annotated_transformer.decoding.kv_cache import MakeDecoder, cached_or_not
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.inference import refuse_nan
from annotated_transformer.model.trainable import AnyModel, is_transformer
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.whole_numbers import is_positive_whole


@refuses_other_kinds
@dataclass(frozen=True)
class Temperature:
    r"""Divide the logits by $\tau$: below 1, likely tokens become more likely; above 1, less likely."""

    tau: float

    def __post_init__(self) -> None:
        """Refuse a temperature that is not positive, or too extreme for float32."""
        if not 0 < self.tau < math.inf:
            raise ValueError(
                f"tau={self.tau!r} is not a temperature, which is a positive number; as tau "
                "→ 0, sampling becomes greedy search, which needs no temperature"
            )
        if not 1e-30 <= self.tau <= 1e30:
            raise ValueError(f"tau={self.tau!r} is too extreme; give a temperature from 1e-30 to 1e30")

    def __call__(self, logits: Float[Tensor, "rows vocab"]) -> Float[Tensor, "rows vocab"]:
        """Return the logits of the distribution at this temperature."""
        return logits / self.tau


@refuses_other_kinds
@dataclass(frozen=True)
class TopK:
    """Keep only the `k` most likely tokens (Fan et al., 2018)."""

    k: int

    def __post_init__(self) -> None:
        """Refuse a number of tokens that is not a positive whole number."""
        if not is_positive_whole(self.k):
            raise ValueError(f"k={self.k!r} keeps no token; for top-k, give a positive whole number")

    def __call__(self, logits: Float[Tensor, "rows vocab"]) -> Float[Tensor, "rows vocab"]:
        r"""Return the logits, with $-\infty$ for the other tokens."""
        best, index = logits.topk(min(int(self.k), logits.size(1)))
        return torch.full_like(logits, -math.inf).scatter(1, index, best)


@refuses_other_kinds
@dataclass(frozen=True)
class TopP:
    """Keep the fewest tokens whose probabilities sum to at least `p` (Holtzman et al., 2020)."""

    p: float

    def __post_init__(self) -> None:
        """Refuse a sum that is not in (0, 1]."""
        if not 0 < self.p <= 1:
            raise ValueError(f"p={self.p!r} is not in (0, 1], as top-p needs it; 1 keeps every token")

    def __call__(self, logits: Float[Tensor, "rows vocab"]) -> Float[Tensor, "rows vocab"]:
        r"""Return the logits, with $-\infty$ for the other tokens."""
        rising, index = logits.softmax(dim=-1).sort(dim=-1)
        # Starting with the least likely: tokens are needed once the sum exceeds 1 - p.
        unneeded = rising.cumsum(dim=-1) <= 1 - self.p
        unneeded[:, -1] = False  # the most likely one, whatever the rounding of the sum
        return logits.masked_fill(unneeded.scatter(1, index, unneeded), -math.inf)


@refuses_other_kinds
def sample(
    model: AnyModel,
    src: Int[Tensor, "batch src_tokens"],
    *,
    generator: torch.Generator | Sequence[torch.Generator] | None = None,
    logits_processors: Sequence[Callable[[Tensor], Tensor]] = (),
    extra_tokens: int = EXTRA_TOKENS,
    decoder: MakeDecoder = cached_or_not,
) -> Int[Tensor, "batch tgt_tokens"]:
    """Return, for each source, a target sampled token by token from the model's distribution.

    `logits_processors`, such as `(Temperature(0.7), TopK(10), TopP(0.9))`, change the logits in this
    order before each draw. One `generator`, by default torch's own, draws for all rows, so a sample depends
    on the other sources in the batch, but its distribution does not. With a list of them, one for each
    source, it does not depend on the others. See `generate` for the form of a target and for its errors.

    Raises:
        ValueError: If there is not one generator for each source.
        TypeError: If there is a list of generators, and the model is not a `Transformer`.
    """
    shared, of_each = None if isinstance(generator, Sequence) else generator, None
    if isinstance(generator, Sequence):
        if not is_transformer(model):
            raise TypeError(f"{type(model).__name__} samples with one generator for all sources; give one")
        if len(generator) != len(src):
            raise ValueError(
                f"{len(generator)} generators for {len(src)} sources; give one for each, or one for all"
            )
        decoder = of_each = _OwnGenerators(generator, decoder)

    def draw(logits: Float[Tensor, "rows vocab"]) -> Int[Tensor, " rows"]:
        for process in logits_processors:
            logits = process(logits)
        probabilities = logits.softmax(dim=-1)
        refuse_nan(probabilities)
        if of_each is not None:
            return of_each.draw(probabilities)
        return torch.multinomial(probabilities, 1, generator=shared)[:, 0]

    return generate(model, src, draw, decoder, extra_tokens)


class _OwnGenerators:
    """Steps of decoding, in which each source has a generator of its own for as long as its target grows."""

    def __init__(self, generators: Sequence[torch.Generator], decoder: MakeDecoder) -> None:
        self.generators, self.decoder = generators, decoder

    def __call__(self, model: Transformer, src: Tensor) -> "_OwnGenerators":
        self.steps = self.decoder(model, src)
        return self

    def step(self, tokens: Int[Tensor, " rows"]) -> Float[Tensor, "rows vocab"]:
        return self.steps.step(tokens)

    def select(self, rows: Int[Tensor, " kept"]) -> None:
        self.generators = [self.generators[row] for row in rows.tolist()]
        self.steps.select(rows)

    def draw(self, probabilities: Float[Tensor, "rows vocab"]) -> Int[Tensor, " rows"]:
        rows = zip(probabilities, self.generators, strict=True)
        return torch.cat([torch.multinomial(row, 1, generator=generator) for row, generator in rows])
