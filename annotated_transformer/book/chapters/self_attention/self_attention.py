"""Self-attention with one head: sections 2 and 3.2.3 of the paper, the chapter on self-attention."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.model.attention import ScaledDotProductAttention


def plain_self_attention(
    x: Float[Tensor, "batch tokens d_model"],
) -> Float[Tensor, "batch tokens d_model"]:
    r"""Average the vectors of each sentence, $\mathrm{softmax}(XX^\top)\,X$.

    This is self-attention without parameters and without scaling. A wide random
    vector with features of variance 1 gives nearly all of its weight to itself.
    """
    scores = torch.bmm(x, x.transpose(1, 2))
    weights = scores.softmax(dim=2)
    return torch.bmm(weights, x)


class SelfAttention(nn.Module):
    r"""Attend within one sequence, $\mathrm{Attention}(XW^Q, XW^K, XW^V)$ (3.2.3).

    `to_query.weight` is the transpose of $W^Q$, and so on. `MultiHeadAttention`
    runs several of these heads at once and adds $W^O$.
    """

    def __init__(self, d_model: int, d_k: int, d_v: int) -> None:
        """Make the three matrices."""
        super().__init__()
        self.to_query = nn.Linear(d_model, d_k, bias=False)
        self.to_key = nn.Linear(d_model, d_k, bias=False)
        self.to_value = nn.Linear(d_model, d_v, bias=False)
        self.attention = ScaledDotProductAttention()

    def forward(
        self,
        x: Float[Tensor, "batch tokens d_model"],
    ) -> Float[Tensor, "batch tokens d_v"]:
        """Return one weighted mean of the values for each token."""
        query, key, value = self.to_query(x), self.to_key(x), self.to_value(x)
        output: Tensor = self.attention(query, key, value)
        return output
