r"""ALiBi: each head subtracts from the scores a multiple of the distance; nothing is learned.

Press et al., *Train Short, Test Long*, 2022, arXiv:2108.12409.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.config import refuse_sizes


def alibi_slopes(num_heads: int) -> Float[Tensor, " heads"]:
    r"""Return the slopes $2^{-8/h}, 2^{-16/h}, \dots, 2^{-8}$ of $h$ heads.

    If $h$ is not a power of 2, the slopes are those of the next lower one, and then every other
    slope of twice as many heads, as in the authors' code.
    """
    refuse_sizes(num_heads=num_heads)
    power = 2 ** int(math.log2(num_heads))
    exponents = torch.arange(1, power + 1) * (8 / power)
    between = (2 * torch.arange(num_heads - power) + 1) * (4 / power)
    return 2.0 ** -torch.cat([exponents, between])


class ALiBi(nn.Module):
    r"""Return the bias $-m_h\,|j - i|$ of head $h$, for `BiasedAttention`.

    Without a causal mask, the bias is the same to both sides, so it cannot tell them apart. With one, it
    may as well be $m_h\,j$: adding the same number to all scores of a query changes no weight.
    """

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads

    def forward(self, distances: Int[Tensor, "queries keys"]) -> Float[Tensor, "heads queries keys"]:
        """Return the bias of each head, query and key."""
        slopes = alibi_slopes(self.num_heads).to(distances.device)
        return -slopes[:, None, None] * distances.abs()
