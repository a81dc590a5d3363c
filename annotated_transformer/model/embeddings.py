"""From token ids to vectors, and from vectors to logits: section 3.4 of the paper."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.model.checks import refuses
from annotated_transformer.model.id_checks import foreign_ids
from annotated_transformer.model.initialization import initialize_table


class TokenEmbedding(nn.Module):
    r"""One matrix $E$: rows embed tokens, the transpose gives logits (section 3.4)."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        r"""Draw the matrix with standard deviation $1/\sqrt{d_\text{model}}$."""
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        initialize_table(self.weight)

    @refuses(foreign_ids)
    def forward(
        self, ids: Int[Tensor, "batch tokens"]
    ) -> Float[Tensor, "batch tokens d_model"]:
        r"""Return $\sqrt{d_\text{model}}\,E_\text{id}$ for each id."""
        d_model = self.weight.size(1)
        return F.embedding(ids, self.weight) * math.sqrt(d_model)

    def logits(
        self, hidden: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch vocab"]:
        r"""Return $hE^\top$, a logit for each token of the vocabulary."""
        return F.linear(hidden, self.weight)
