"""From token ids to vectors, and from vectors to logits: section 3.4 of the paper."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.model.initialization import initialize_table


def check_ids(ids: object, name: str = "token ids") -> None:
    """Refuse anything but a batch of token ids.

    Raises:
        TypeError: If `ids` is not a tensor of integers.
        ValueError: If `ids` does not have two dimensions.
    """
    if not isinstance(ids, Tensor):
        raise TypeError(
            f"{name} are of type {type(ids).__name__}; give a tensor of torch.int64 and shape "
            f"(batch, tokens), such as torch.tensor([[5, 6, 2]])"
        )
    if ids.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"{name} have dtype {ids.dtype}; give torch.int64")
    if ids.ndim != 2:
        raise ValueError(
            f"{name} have shape {tuple(ids.shape)}; give (batch, tokens): "
            f"for one sentence, ids[None] has shape (1, tokens)"
        )


class TokenEmbedding(nn.Module):
    r"""One matrix $E$: rows embed tokens, the transpose gives logits (section 3.4)."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        r"""Draw the matrix with standard deviation $1/\sqrt{d_\text{model}}$."""
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        initialize_table(self.weight)

    def forward(
        self, ids: Int[Tensor, "batch tokens"]
    ) -> Float[Tensor, "batch tokens d_model"]:
        r"""Return $\sqrt{d_\text{model}}\,E_\text{id}$ for each id.

        Raises:
            TypeError: If the ids are not a tensor of integers.
            ValueError: If an id lies outside the vocabulary, or the ids do not have two
                dimensions.
        """
        check_ids(ids)
        vocab_size, d_model = self.weight.shape
        if ids.numel() > 0 and not 0 <= int(ids.min()) <= int(ids.max()) < vocab_size:
            raise ValueError(
                f"token ids {int(ids.min())} to {int(ids.max())} do not fit "
                f"a vocabulary of {vocab_size}, 0 to {vocab_size - 1}; "
                f"encode the text with this model's own tokenizer"
            )
        return F.embedding(ids, self.weight) * math.sqrt(d_model)

    def logits(
        self, hidden: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch vocab"]:
        r"""Return $hE^\top$, a logit for each token of the vocabulary."""
        return F.linear(hidden, self.weight)
