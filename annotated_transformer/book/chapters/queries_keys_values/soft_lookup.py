"""A soft lookup by closeness, and captions by a learned lookup: from a dictionary toward attention."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.book.toy.lookup import LearnedLookup
from annotated_transformer.model.attention import masked_softmax
from annotated_transformer.model.checks import refuses


def flat_kernel(query: Tensor, key: Tensor, value: Tensor, *, width: float) -> None:
    """Raise ValueError if the width of a Gaussian is not above 0, or query and key differ in theirs."""
    if not width > 0:
        raise ValueError(f"width={width} of the kernel; give a number above 0")
    if query.size(-1) != key.size(-1):  # one feature would be broadcast
        raise ValueError(f"query has d_k={query.size(-1)} features and key {key.size(-1)}; give equal widths")


@refuses(flat_kernel)
def gaussian_average(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_v"],
    *,
    width: float,
) -> Float[Tensor, "*batch queries d_v"]:
    r"""Average the values by closeness, $w_i \propto e^{-\|q - k_i\|^2 / 2\sigma^2}$.

    This is the Nadaraya–Watson estimator with a Gaussian kernel; `width` is $\sigma$.

    Raises:
        ValueError: If the width is not above 0, or the shapes do not fit.
    """
    squares = (query.unsqueeze(-2) - key.unsqueeze(-3)).square().sum(dim=-1)
    weights = masked_softmax(-squares / (2 * width**2))
    return weights @ value


class Captioner(nn.Module):
    """Describe a picture word by word: each query is made from the previous word."""

    def __init__(self, num_words: int, lookup: LearnedLookup) -> None:
        """Make the linear map from the lookup's output to the logits of the words."""
        super().__init__()
        self.num_words = num_words
        self.lookup = lookup
        self.to_words = nn.Linear(lookup.to_value.out_features, num_words)

    def forward(
        self,
        last_words: Int[Tensor, "batch queries"],
        cells: Float[Tensor, "batch keys d_cell"],
    ) -> Float[Tensor, "batch queries vocab"]:
        """Return the logits of the word that follows each of `last_words`."""
        x = F.one_hot(last_words, self.num_words).to(cells.dtype)
        logits: Tensor = self.to_words(self.lookup(x, cells))
        return logits

    @torch.no_grad()
    def write(
        self, cells: Float[Tensor, "batch keys d_cell"], *, start: int, length: int
    ) -> Int[Tensor, "batch tokens"]:
        """Return captions of `length` words; each word becomes the next query."""
        said = torch.full((len(cells), 1), start)
        for _ in range(length):
            logits = self(said[:, -1:], cells)
            said = torch.cat([said, logits.argmax(dim=-1)], dim=1)
        return said[:, 1:]
