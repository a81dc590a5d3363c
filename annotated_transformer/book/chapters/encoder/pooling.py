"""From one vector per token to one prediction per sequence; the paper has no such head."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from annotated_transformer.model.checks import refuses


def empty_sequences(z: Tensor, is_word: Tensor) -> None:
    """Raise ValueError if a sequence has no words, and so no mean."""
    if torch.compiler.is_compiling() or is_word.is_meta:
        return  # it has no values
    if (empty := ~is_word.any(dim=1)).any():
        raise ValueError(
            f"sequence {int(empty.nonzero()[0])} of {len(is_word)} has no words to average; "
            f"remove it, or end every sequence with eos_id"
        )


@refuses(empty_sequences)
def mean_pool(
    z: Float[Tensor, "batch tokens d_model"], is_word: Bool[Tensor, "batch tokens"]
) -> Float[Tensor, "batch d_model"]:
    """Return the mean of each sequence's vectors, padding left out.

    Raises:
        ValueError: If a sequence has no words.
    """
    counts = is_word.sum(dim=1, keepdim=True)
    return z.masked_fill(~is_word[..., None], 0.0).sum(dim=1) / counts


class PooledHead(nn.Module):
    r"""Predict from a sequence: a linear map of its mean vector, $\bar z W + b$."""

    def __init__(self, d_model: int, outputs: int) -> None:
        """Make the map: an output for each class, or one for each number to predict."""
        super().__init__()
        self.linear = nn.Linear(d_model, outputs)

    def forward(
        self,
        z: Float[Tensor, "batch tokens d_model"],
        is_word: Bool[Tensor, "batch tokens"],
    ) -> Float[Tensor, "batch outputs"]:
        """Return the predictions for each sequence; `is_word` is False on padding."""
        predicted: Tensor = self.linear(mean_pool(z, is_word))
        return predicted
