"""Sliding-window attention: a token attends to its neighbors only, and sees further with each layer.

Beltagy et al., *Longformer*, 2020, arXiv:2004.05150; Jiang et al., *Mistral 7B*, 2023, arXiv:2310.06825.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from annotated_transformer.config import refuse_sizes
from annotated_transformer.model.attention import ScaledDotProductAttention
from annotated_transformer.model.masks import causal_mask
from annotated_transformer.modern.distances import distances


def sliding_window_mask(
    tokens: int, window: int, device: torch.device | None = None
) -> Bool[Tensor, "{tokens} {tokens}"]:
    """Return the causal mask of the last `window` positions: i may attend to i - window < j ≤ i."""
    refuse_sizes(window=window)
    return causal_mask(tokens, device).triu(1 - window)


class SlidingWindowAttention(nn.Module):
    """Allow only keys less than `window` positions away, then attend: in self-attention.

    Of a cache, only the last `window` keys are read. Before a causal mask, the window is one-sided; without
    one, it has two sides.
    """

    cacheable = True  # the last query gets the same alone as with the others
    counts_distances = True  # so it is refused in cross-attention

    def __init__(self, window: int, attention: nn.Module | None = None) -> None:
        """Take the window, which counts the token itself, and the attention that follows."""
        super().__init__()
        refuse_sizes(window=window)
        self.window = window
        self.attention = attention or ScaledDotProductAttention()

    def forward(
        self,
        query: Float[Tensor, "*batch queries d_k"],
        key: Float[Tensor, "*batch keys d_k"],
        value: Float[Tensor, "*batch keys d_v"],
        mask: Bool[Tensor, "*#batch #queries #keys"] | None = None,
    ) -> Float[Tensor, "*batch queries d_v"]:
        """Return one weighted mean of the values for each query."""
        near = distances(query, key).abs() < self.window
        heads: Tensor = self.attention(query, key, value, near if mask is None else near & mask)
        return heads
