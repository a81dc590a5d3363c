"""Scaled dot-product and additive attention: sections 3.2.1 and 3.2.3 of the paper.

The chapters on scaled dot-product attention and on masking explain them.
"""

import math

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from annotated_transformer.model.checks import (
    refuse_unfit_mask,
    refuse_unfit_pairs,
)


def attention_weights(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    mask: Bool[Tensor, "*#batch #queries #keys"] | None = None,
) -> Float[Tensor, "*batch queries keys"]:
    r"""Return the weights, $\mathrm{softmax}(QK^\top/\sqrt{d_k})$, of equation 1.

    `mask` is True where a query may attend: the opposite of `nn.MultiheadAttention`.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return masked_softmax(scores, mask)


def masked_softmax(
    scores: Float[Tensor, "*batch queries keys"],
    mask: Bool[Tensor, "*#batch #queries #keys"] | None = None,
) -> Float[Tensor, "*batch queries keys"]:
    r"""Return a softmax over the keys, with masked scores at $-\infty$ (section 3.2.3).

    A query that may not attend to any key gets a row of zeros, and a gradient of zero.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    refuse_unfit_mask(scores, mask)
    blind = ~mask.any(dim=-1, keepdim=True)  # softmax gives NaN on a row of -inf
    weights = scores.masked_fill(~(mask | blind), -math.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


class ScaledDotProductAttention(nn.Module):
    r"""Average the values, $\mathrm{softmax}(QK^\top / \sqrt{d_k})\,V$ (eq. 1).

    A forward hook on `weights`, an identity, can observe the weights.
    """

    def __init__(self) -> None:
        """Create the identity that hooks can observe; there are no parameters."""
        super().__init__()
        self.weights = nn.Identity()

    def forward(
        self,
        query: Float[Tensor, "*batch queries d_k"],
        key: Float[Tensor, "*batch keys d_k"],
        value: Float[Tensor, "*batch keys d_v"],
        mask: Bool[Tensor, "*#batch #queries #keys"] | None = None,
    ) -> Float[Tensor, "*batch queries d_v"]:
        """Return one weighted mean of the values for each query."""
        weights: Tensor = self.weights(attention_weights(query, key, mask))
        return weights @ value


class FusedAttention(nn.Module):
    """The same function, computed by PyTorch's fused kernel.

    The kernel need not materialize the weights, so there are none to observe.
    """

    def forward(
        self,
        query: Float[Tensor, "*batch queries d_k"],
        key: Float[Tensor, "*batch keys d_k"],
        value: Float[Tensor, "*batch keys d_v"],
        mask: Bool[Tensor, "*#batch #queries #keys"] | None = None,
    ) -> Float[Tensor, "*batch queries d_v"]:
        """Return one weighted mean of the values for each query."""
        refuse_unfit_pairs(query, key, value, mask)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


class AdditiveAttention(nn.Module):
    r"""Score by a small network, $w^\top \tanh(W^Q q + W^K k)$ (Bahdanau et al., 2015).

    Section 3.2.1 compares it with the dot product. Query and key may differ in width;
    each pair takes `hidden` numbers of memory, where a dot product takes one.
    """

    def __init__(self, d_query: int, d_key: int, hidden: int) -> None:
        """Make the three linear maps of the scoring network."""
        super().__init__()
        self.to_query = nn.Linear(d_query, hidden, bias=False)
        self.to_key = nn.Linear(d_key, hidden, bias=False)
        self.to_score = nn.Linear(hidden, 1, bias=False)
        self.weights = nn.Identity()

    def forward(
        self,
        query: Float[Tensor, "*batch queries d_query"],
        key: Float[Tensor, "*batch keys d_key"],
        value: Float[Tensor, "*batch keys d_v"],
        mask: Bool[Tensor, "*#batch #queries #keys"] | None = None,
    ) -> Float[Tensor, "*batch queries d_v"]:
        """Return one weighted mean of the values for each query."""
        pairs = self.to_query(query).unsqueeze(-2) + self.to_key(key).unsqueeze(-3)
        scores: Tensor = self.to_score(pairs.tanh()).squeeze(-1)
        weights: Tensor = self.weights(masked_softmax(scores, mask))
        return weights @ value
