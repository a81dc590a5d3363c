"""A lookup with learned queries, keys, and values: a step toward attention, which is not in the paper."""

from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.model.attention import ScaledDotProductAttention


class LearnedLookup(nn.Module):
    r"""Look up with queries $xW^Q$ in a dictionary of keys $cW^K$ and values $cW^V$.

    `attention` compares queries with keys; the default is scaled dot-product attention.
    """

    def __init__(
        self,
        d_x: int,
        d_cell: int,
        *,
        d_k: int,
        d_v: int,
        attention: nn.Module | None = None,
    ) -> None:
        """Make the three matrices."""
        super().__init__()
        self.to_query = nn.Linear(d_x, d_k, bias=False)
        self.to_key = nn.Linear(d_cell, d_k, bias=False)
        self.to_value = nn.Linear(d_cell, d_v, bias=False)
        self.attention = attention or ScaledDotProductAttention()

    def forward(
        self,
        x: Float[Tensor, "*batch queries d_x"],
        cells: Float[Tensor, "*batch keys d_cell"],
    ) -> Float[Tensor, "*batch queries d_v"]:
        """Return one weighted mean of the cells' values for each row of `x`."""
        query = self.to_query(x)
        key, value = self.to_key(cells), self.to_value(cells)
        found: Tensor = self.attention(query, key, value)
        return found
