"""Attention with a bias that depends on the distance, in place of positions that are added to tokens."""

import math

from jaxtyping import Bool, Float
from torch import Tensor, nn

from annotated_transformer.model.attention import masked_softmax
from annotated_transformer.modern.distances import distances, refuse_other_size


class BiasedAttention(nn.Module):
    r"""Average the values, $\mathrm{softmax}(QK^\top / \sqrt{d_k} + B)\,V$, in self-attention.

    `bias` returns $B$ for the distances of keys from queries: `ALiBi`, `RelativeBias`, `BucketedBias`.
    Layers may share one, as those of T5 do. (T5 also leaves out the division by $\sqrt{d_k}$.)
    """

    cacheable = True  # the last query gets the same alone as with the others
    counts_distances = True  # so it is refused in cross-attention

    def __init__(self, bias: nn.Module) -> None:
        super().__init__()
        self.bias = bias
        self.weights = nn.Identity()

    def forward(
        self,
        query: Float[Tensor, "batch heads queries d_k"],
        key: Float[Tensor, "batch heads keys d_k"],
        value: Float[Tensor, "batch heads keys d_v"],
        mask: Bool[Tensor, "*#batch #queries #keys"] | None = None,
    ) -> Float[Tensor, "batch heads queries d_v"]:
        """Return one weighted mean of the values for each query."""
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
        bias = self.bias(distances(query, key)).to(scores.dtype)
        refuse_other_size(self.bias, "num_heads", len(bias), query.size(1))
        weights: Tensor = self.weights(masked_softmax(scores + bias, mask))
        return weights @ value
