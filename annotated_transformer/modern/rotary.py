r"""Rotary positions: queries and keys are rotated by their position, and values are not.

Su et al., *RoFormer*, 2021, arXiv:2104.09864. The rotation is that of the chapter on positional
encoding. There it maps one position's sinusoids to another's; here it is applied to the features of
queries and keys. Turning both by their positions leaves the angle between them, which
depends on the distance only: $(R_p\,q)^\top (R_r\,k) = q^\top R_{r-p}\,k$.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from annotated_transformer.model.attention import ScaledDotProductAttention
from annotated_transformer.modern.distances import first_query, refuse_other_size


class RotaryPositions(nn.Module):
    r"""Rotate pair $i$ of the features of the token at position $p$ by $p / \text{base}^{2i/d_k}$.

    Features $2i$ and $2i + 1$ are a pair. Nothing is learned, and no length is the last.
    """

    def __init__(self, d_k: int, base: float = 10_000.0) -> None:
        """Store the width of a head, and the base; a larger one turns most pairs more slowly."""
        super().__init__()
        if not 0 < base < math.inf:
            raise ValueError(f"base={base} gives no angles; give a positive number, such as 10_000.0")
        if d_k % 2 != 0:
            raise ValueError(f"d_k={d_k} is odd, but features are rotated in pairs; make it even")
        self.d_k, self.base = d_k, base

    def forward(
        self, x: Float[Tensor, "*batch tokens {self.d_k}"], start: int = 0
    ) -> Float[Tensor, "*batch tokens {self.d_k}"]:
        """Return the tokens rotated; the first has position `start`."""
        refuse_other_size(self, "d_k", self.d_k, x.size(-1))
        angle = self.angles(x, start)
        first, second = self.split(x)
        cosine, sine = angle.cos(), angle.sin()
        turned = self.join(first * cosine - second * sine, first * sine + second * cosine)
        return turned.to(x.dtype)

    def angles(self, x: Tensor, start: int) -> Float[Tensor, "tokens pairs"]:
        """Return the angle of each token and pair, not in half precision, which counts only to 2048."""
        dtype = torch.promote_types(x.dtype, torch.float32)
        position = torch.arange(start, start + x.size(-2), dtype=dtype, device=x.device)[:, None]
        feature = torch.arange(0, self.d_k, 2, dtype=dtype, device=x.device)
        return position / self.base ** (feature / self.d_k)

    def split(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the first and the second feature of each pair."""
        return x[..., 0::2], x[..., 1::2]

    def join(self, first: Tensor, second: Tensor) -> Tensor:
        """Undo `split`."""
        return torch.stack([first, second], dim=-1).flatten(-2)


class RotaryHalves(RotaryPositions):
    """The same, but features $i$ and $i + d_k/2$ are a pair.

    GPT-NeoX and Hugging Face's Llama have this order, which they call `rotate_half`. Weights for
    one order work with the other once the rows of `to_query` and `to_key` are permuted in each head.
    """

    def split(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the first and the second feature of each pair."""
        first, second = x.chunk(2, dim=-1)
        return first, second

    def join(self, first: Tensor, second: Tensor) -> Tensor:
        """Undo `split`."""
        return torch.cat([first, second], dim=-1)


class RotaryAttention(nn.Module):
    """Rotate queries and keys, then attend: in place of `ScaledDotProductAttention` in self-attention.

    A cache holds keys as they were before the rotation, so it need not know about positions.
    """

    cacheable = True  # the last query gets the same alone as with the others
    counts_distances = True  # so it is refused in cross-attention

    def __init__(self, positions: RotaryPositions, attention: nn.Module | None = None) -> None:
        """Take the rotation, and the attention that follows."""
        super().__init__()
        self.positions = positions
        self.attention = attention or ScaledDotProductAttention()

    def forward(
        self,
        query: Float[Tensor, "*batch queries d_k"],
        key: Float[Tensor, "*batch keys d_k"],
        value: Float[Tensor, "*batch keys d_v"],
        mask: Bool[Tensor, "*#batch #queries #keys"] | None = None,
    ) -> Float[Tensor, "*batch queries d_v"]:
        """Return one weighted mean of the values for each query."""
        start = first_query(query, key)
        query, key = self.positions(query, start), self.positions(key)
        heads: Tensor = self.attention(query, key, value, mask)
        return heads
