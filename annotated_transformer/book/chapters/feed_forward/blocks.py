"""Small blocks with and without feed-forward networks, for the experiment of the chapter on them."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.initialization import initialize
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.normalization import PostNorm

D_MODEL = 16


class Block(nn.Module):
    """Some sub-layers between a linear map to 16 features and one to a logit.

    `sublayers` has a letter for each: A for attention with two heads, F for a feed-forward network. The
    result of each is added to its input, and normalized if `norm` is True.
    """

    def __init__(self, features: int, sublayers: str, *, norm: bool, rng: torch.Generator) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(features, D_MODEL), nn.Linear(D_MODEL, 1)
        self.sublayers = nn.ModuleList(
            MultiHeadAttention(D_MODEL, 2) if letter == "A" else FeedForward(D_MODEL, 4 * D_MODEL)
            for letter in sublayers
        )
        self.norms = nn.ModuleList(PostNorm(D_MODEL, dropout=0.0) for _ in sublayers if norm)
        initialize(self, rng)

    def forward(self, x: Float[Tensor, "*batch tokens features"]) -> Float[Tensor, "*batch tokens"]:
        """Return a logit for each token."""
        x = self.first(x)
        for place, sublayer in enumerate(self.sublayers):

            def apply(y: Tensor, sublayer: nn.Module = sublayer) -> Tensor:
                inputs = (y, y, y) if isinstance(sublayer, MultiHeadAttention) else (y,)
                result: Tensor = sublayer(*inputs)
                return result

            x = self.norms[place](x, apply) if self.norms else x + apply(x)
        logits: Tensor = self.last(x).squeeze(-1)
        return logits
