"""Grouped-query attention: several query heads share the keys and values of one head.

Ainslie et al., *GQA*, 2023, arXiv:2305.13245. With one head of keys and values, it is multi-query
attention (Shazeer, *Fast Transformer Decoding*, 2019, arXiv:1911.02150).
"""

from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.model.masks import Mask
from annotated_transformer.model.multi_head_attention import MultiHeadAttention


class GroupedQueryAttention(MultiHeadAttention):
    r"""Multi-head attention in which each head of keys and values serves $h / h_{kv}$ query heads in a row.

    It equals `MultiHeadAttention` with each head of `to_key` and `to_value` repeated. `KeyValueCache` holds
    $h / h_{kv}$ times fewer numbers.
    """

    cacheable = True  # the last query gets the same alone as with the others

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        num_kv_heads: int,
        *,
        attention: nn.Module | None = None,
        bias: bool = False,
    ) -> None:
        """Make the four projections, those of keys and values with `num_kv_heads` heads."""
        super().__init__(d_model, num_heads, attention=attention, bias=bias)
        refuse_unequal_groups(num_heads, num_kv_heads)
        self.num_kv_heads = num_kv_heads
        width = num_kv_heads * (d_model // num_heads)
        self.to_key = nn.Linear(d_model, width, bias=bias)
        self.to_value = nn.Linear(d_model, width, bias=bias)

    def attend(
        self,
        query: Float[Tensor, "batch heads queries d_k"],
        key: Float[Tensor, "batch kv_heads keys d_k"],
        value: Float[Tensor, "batch kv_heads keys d_v"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch queries d_model"]:
        """Attend in every head, concatenate the heads, and mix them by `to_output`."""
        group = self.num_heads // self.num_kv_heads
        key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))
        return super().attend(query, key, value, mask)

    def project_memory(
        self,
        key: Float[Tensor, "batch keys d_model"],
        value: Float[Tensor, "batch keys d_model"],
    ) -> tuple[Float[Tensor, "batch kv_heads keys d_k"], Float[Tensor, "batch kv_heads keys d_v"]]:
        r"""Return the keys and values of the heads that have their own."""
        keys = self._project(self.to_key, key, self.num_kv_heads)
        return keys, self._project(self.to_value, value, self.num_kv_heads)


def refuse_unequal_groups(num_heads: int, num_kv_heads: int) -> None:
    """Raise ValueError if heads of queries do not share those of keys and values equally."""
    if num_kv_heads < 1 or num_heads % num_kv_heads != 0:
        choices = [heads for heads in range(1, num_heads + 1) if num_heads % heads == 0]
        raise ValueError(
            f"num_heads={num_heads} queries do not share num_kv_heads={num_kv_heads} keys equally; "
            f"choose num_kv_heads from {choices}"
        )


def cached_numbers(attention: MultiHeadAttention, tokens: int) -> int:
    """Return how many numbers a cache holds for the keys and values of this many tokens."""
    return tokens * (attention.to_key.out_features + attention.to_value.out_features)
