"""Multi-head attention: section 3.2.2 of the paper, the chapter on multi-head attention."""

from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.config import refuse_uneven_heads
from annotated_transformer.model.attention import ScaledDotProductAttention
from annotated_transformer.model.checks import explain_tokens, refuse_unequal
from annotated_transformer.model.masks import Mask


class MultiHeadAttention(nn.Module):
    r"""Attend h times at once, $\mathrm{Concat}(\mathrm{head}_1, \dots)\,W^O$ (3.2.2).

    `to_query` holds the paper's $W^Q_1, \dots, W^Q_h$ side by side, so that one product
    serves all heads, as do `to_key` and `to_value`. `to_output` is $W^O$. By default,
    there are no biases, as in the paper's formulas.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        d_k: int | None = None,
        d_v: int | None = None,
        attention: nn.Module | None = None,
        bias: bool = False,
    ) -> None:
        """Make the four projections.

        `d_k` and `d_v` default to d_model / num_heads; table 3, rows B, varies `d_k`.
        """
        refuse_uneven_heads(d_model, num_heads, d_k, d_v)
        super().__init__()
        d_k = d_model // num_heads if d_k is None else d_k
        d_v = d_model // num_heads if d_v is None else d_v
        self.num_heads = num_heads
        self.to_query = nn.Linear(d_model, num_heads * d_k, bias=bias)
        self.to_key = nn.Linear(d_model, num_heads * d_k, bias=bias)
        self.to_value = nn.Linear(d_model, num_heads * d_v, bias=bias)
        self.to_output = nn.Linear(num_heads * d_v, d_model, bias=bias)
        self.attention = attention or ScaledDotProductAttention()

    def forward(
        self,
        query: Float[Tensor, "batch queries d_model"],
        key: Float[Tensor, "batch keys d_model"],
        value: Float[Tensor, "batch keys d_model"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch queries d_model"]:
        """Return one output vector for each query.

        `mask` is (queries, keys), or broadcasts to (batch, heads, queries, keys).
        """
        heads = self.project_query(query)
        return self.attend(heads, *self.project_memory(key, value), mask)

    def project_query(
        self, query: Float[Tensor, "batch queries d_model"]
    ) -> Float[Tensor, "batch heads queries d_k"]:
        r"""Return $QW^Q_1, \dots, QW^Q_h$."""
        return self._project(self.to_query, query, self.num_heads)

    def project_memory(
        self,
        key: Float[Tensor, "batch keys d_model"],
        value: Float[Tensor, "batch keys d_model"],
    ) -> tuple[
        Float[Tensor, "batch heads keys d_k"], Float[Tensor, "batch heads keys d_v"]
    ]:
        r"""Return $KW^K_1, \dots, KW^K_h$ and $VW^V_1, \dots, VW^V_h$."""
        keys = self._project(self.to_key, key, self.num_heads)
        return keys, self._project(self.to_value, value, self.num_heads)

    def attend(
        self,
        query: Float[Tensor, "batch heads queries d_k"],
        key: Float[Tensor, "batch heads keys d_k"],
        value: Float[Tensor, "batch heads keys d_v"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch queries d_model"]:
        """Attend in every head, concatenate the heads, and mix them by `to_output`."""
        refuse_unequal(query, key, value)
        heads: Tensor = self.attention(query, key, value, mask)
        output: Tensor = self.to_output(heads.transpose(1, 2).flatten(2))
        return output

    def _project(self, projection: nn.Linear, x: Tensor, num_heads: int) -> Tensor:
        width = projection.out_features // num_heads
        try:
            batch, tokens, _ = x.shape
            heads = projection(x).view(batch, tokens, num_heads, width)
        except (ValueError, RuntimeError) as error:
            raise explain_tokens(x, projection, error) from None
        return heads.transpose(1, 2)
