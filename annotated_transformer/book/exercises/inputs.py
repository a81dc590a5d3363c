"""What the checks try: random inputs, the same each time, and layers and attention with common mistakes."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

Sublayer = Callable[[Tensor], Tensor]


def draw_normal(seed: int, *shape: int) -> Tensor:
    """Return a tensor of normally distributed numbers."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def normal_draws(seed: int) -> Callable[..., Tensor]:
    """Return a function that draws a new tensor of a given shape at each call."""
    generator = torch.Generator().manual_seed(seed)
    return lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)


def mistaken_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> dict[str, Tensor]:
    """Return the outputs of attention after the commonest mistakes; `mask` is True where a query may look."""
    scores, root = query @ key.mT, math.sqrt(query.size(-1))

    def read(scores: Tensor, dim: int = -1) -> Tensor:
        hidden = scores if mask is None else scores.masked_fill(~mask, -math.inf)
        return hidden.softmax(dim=dim) @ value

    found = {
        "the scores are not divided by √d_k": read(scores),
        "the scores are divided by d_k instead of √d_k": read(scores / root**2),
        "the scores are multiplied by √d_k instead of divided": read(scores * root),
        "the softmax runs over the queries instead of the keys": read(scores / root, dim=-2),
        "the softmax runs over the first axis instead of the keys": read(scores / root, dim=0),
        "the softmax is missing": scores / root @ value,
        "the exponentials are not divided by their sum": (scores / root).exp() @ value,
    }
    if mask is not None:
        weights = (scores / root).softmax(dim=-1)
        found["the mask is not used"] = weights @ value
        found["the mask is applied after the softmax, so the weights no longer sum to 1"] = (
            weights * mask @ value
        )
        found["the mask is inverted: it is True where a query may look"] = (scores / root).masked_fill(
            mask, -math.inf
        ).softmax(dim=-1) @ value
    return found


def run_layer(x: Tensor, *sublayers: Sublayer, norm_first: bool = False, keep: float = 1.0) -> Tensor:
    """Add to x what each sub-layer returns, and normalize the sum or, with `norm_first`, the next input.

    `keep` is what of x passes a residual connection.
    """
    for sublayer in sublayers:
        total = keep * x + sublayer(_norm(x) if norm_first else x)
        x = total if norm_first else _norm(total)
    return x


def mistaken_layer(x: Tensor, *sublayers: Sublayer) -> dict[str, Tensor]:
    """Return the outputs of a post-norm layer after the commonest mistakes with connections and norms."""
    norm_first, sums = run_layer(x, *sublayers, norm_first=True), x
    for sublayer in sublayers:
        sums = sums + sublayer(sums)
    return {
        "the residual connections are missing": run_layer(x, *sublayers, keep=0.0),
        "the norms come before the sub-layers (pre-norm); here they come after the sums": norm_first,
        "the norms come before the sub-layers, and one at the end; here they come after the sums": (
            _norm(norm_first)
        ),
        "the norms are missing": sums,
    }


def _norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])
