"""Models with one attention head and a choice of positions, for the experiments on word order."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.model.attention import attention_weights
from annotated_transformer.model.embeddings import TokenEmbedding
from annotated_transformer.model.initialization import initialize
from annotated_transformer.model.multi_head_attention import MultiHeadAttention

D_MODEL = 32


class Reader(nn.Module):
    """Embeddings, perhaps positions, one attention head, and a linear map to the logits of each token.

    `positions` makes the module that adds positions, from d_model and the largest number of tokens.
    """

    def __init__(
        self,
        positions: Callable[[int, int], nn.Module] | None,
        max_length: int,
        *,
        symbols: int,
        rng: torch.Generator,
    ) -> None:
        super().__init__()
        self.words = TokenEmbedding(symbols, D_MODEL)
        self.positions = None if positions is None else positions(D_MODEL, max_length)
        self.attend = MultiHeadAttention(D_MODEL, 1)
        self.predict = nn.Linear(D_MODEL, symbols)
        initialize(self, rng)

    def forward(
        self, ids: Int[Tensor, "batch tokens"], start: int = 0
    ) -> Float[Tensor, "batch tokens symbols"]:
        """Return logits for each token; the first token is at position `start`."""
        x = self.vectors(ids, start)
        logits: Tensor = self.predict(self.attend(x, x, x))
        return logits

    def vectors(
        self, ids: Int[Tensor, "batch tokens"], start: int = 0
    ) -> Float[Tensor, "batch tokens d_model"]:
        """Return what the attention head reads."""
        x: Tensor = self.words(ids)
        return x if self.positions is None else self.positions(x, start)

    @torch.no_grad()
    def mean_weights(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "tokens tokens"]:
        """Return the attention weights, averaged over a batch."""
        x = self.vectors(ids)
        return attention_weights(self.attend.to_query(x), self.attend.to_key(x)).mean(dim=0)
