"""Relative positions: a learned bias for each head and distance, clipped or in buckets."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.config import refuse_sizes


class RelativeBias(nn.Module):
    r"""Return the learned bias $b_{h,\,\mathrm{clip}(j - i, \pm k)}$, for `BiasedAttention`.

    Shaw et al. (2018, arXiv:1803.02155) clip distances, and learn a vector for each; one number per head
    is the simpler form.
    """

    def __init__(self, num_heads: int, max_distance: int) -> None:
        """Make the table, all zeros; `initialize` draws it like other tables."""
        super().__init__()
        refuse_sizes(max_distance=max_distance)
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, distances: Int[Tensor, "queries keys"]) -> Float[Tensor, "heads queries keys"]:
        """Return the bias of each head, query and key."""
        clipped = distances.clamp(-self.max_distance, self.max_distance)
        return self.table[:, clipped + self.max_distance]


def distance_buckets(
    distances: Int[Tensor, "queries keys"], num_buckets: int, max_distance: int, *, causal: bool
) -> Int[Tensor, "queries keys"]:
    r"""Return T5's bucket of each distance: exact while short, wider and wider, one from `max_distance` on.

    With `causal`, all buckets are for keys before the query, and a later key counts as distance 0.
    Otherwise, the second half of the buckets is for keys after the query.
    """
    if (exact := num_buckets // (2 if causal else 4)) not in range(1, max_distance):
        raise ValueError(
            f"num_buckets={num_buckets} are exact below distance {exact}, but max_distance={max_distance}; "
            f"give {2 if causal else 4} buckets or more, and a larger max_distance than {max(exact, 1)}"
        )
    after = torch.zeros_like(distances)
    if causal:
        far = (-distances).clamp(min=0)
    else:
        num_buckets //= 2
        after, far = num_buckets * (distances > 0), distances.abs()
    growth = (far.clamp(min=1) / exact).log() / math.log(max_distance / exact)
    wide = exact + (growth * (num_buckets - exact)).long()
    return after + torch.where(far < exact, far, wide.clamp(max=num_buckets - 1))


class BucketedBias(nn.Module):
    """T5's learned bias for each head and bucket of distances, for `BiasedAttention`.

    Raffel et al., *Exploring the Limits of Transfer Learning*, 2020, arXiv:1910.10683.
    """

    def __init__(
        self, num_heads: int, num_buckets: int = 32, max_distance: int = 128, *, causal: bool
    ) -> None:
        """Make the table, all zeros; `initialize` draws it like other tables."""
        super().__init__()
        distance_buckets(torch.zeros(1, 1, dtype=torch.int64), num_buckets, max_distance, causal=causal)
        self.max_distance, self.causal = max_distance, causal
        self.table = nn.Parameter(torch.zeros(num_heads, num_buckets))

    def forward(self, distances: Int[Tensor, "queries keys"]) -> Float[Tensor, "heads queries keys"]:
        """Return the bias of each head, query and key."""
        num_buckets = self.table.size(1)
        buckets = distance_buckets(distances, num_buckets, self.max_distance, causal=self.causal)
        return self.table[:, buckets]
