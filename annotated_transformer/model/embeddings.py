"""Token ids to vectors, and vectors to scores of tokens: section 3.4 of the paper."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn


class TokenEmbedding(nn.Module):
    r"""One matrix $E$: its rows embed tokens, its transpose scores them (section 3.4)."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        r"""Make the matrix, of deviation $1/\sqrt{d_\text{model}}$: unit variance below."""
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(
        self, ids: Int[Tensor, "batch tokens"]
    ) -> Float[Tensor, "batch tokens d_model"]:
        r"""Return $\sqrt{d_\text{model}}\,E_\text{id}$ for each id.

        Raises:
            TypeError: If the ids are not whole numbers.
            ValueError: If an id lies outside the vocabulary.
        """
        if ids.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"token ids have dtype {ids.dtype}; give torch.int64")
        vocab_size, d_model = self.weight.shape
        if ids.numel() > 0 and not 0 <= int(ids.min()) <= int(ids.max()) < vocab_size:
            raise ValueError(
                f"token ids {int(ids.min())} to {int(ids.max())} do not fit a vocabulary "
                f"of {vocab_size}, 0 to {vocab_size - 1}; "
                f"encode the text with this model's own tokenizer"
            )
        return F.embedding(ids, self.weight) * math.sqrt(d_model)

    def logits(
        self, hidden: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch vocab"]:
        r"""Return each token's score as the next one, $hE^\top$, by the shared matrix."""
        return F.linear(hidden, self.weight)
