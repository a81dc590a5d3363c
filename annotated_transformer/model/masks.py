"""Which query may attend to which key: section 3.2.3 of the paper, the chapter on masking.

In this package True means *may attend*: the opposite of `nn.MultiheadAttention`'s masks.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

# One mask for all sentences and heads, or axes that broadcast to them; never three axes.
Mask = Bool[Tensor, "_queries _keys"] | Bool[Tensor, "_batch _heads _queries _keys"]


def padding_mask(
    ids: Int[Tensor, "batch tokens"], pad_id: int
) -> Bool[Tensor, "batch 1 1 tokens"]:
    """Return where `ids` is not padding: one row for all heads and queries."""
    return (ids != pad_id)[:, None, None, :]


def causal_mask(
    tokens: int, device: torch.device | None = None
) -> Bool[Tensor, "{tokens} {tokens}"]:
    """Return the lower triangle, diagonal included: position i may attend to j ≤ i.

    This hides the word to predict only because the decoder's input is shifted right by
    one position (section 3.1).
    """
    return torch.ones(tokens, tokens, dtype=torch.bool, device=device).tril()


def decoder_mask(
    ids: Int[Tensor, "batch tokens"], pad_id: int
) -> Bool[Tensor, "batch 1 tokens tokens"]:
    """Return the padding mask and the causal mask combined by *and*."""
    return padding_mask(ids, pad_id) & causal_mask(ids.size(1), ids.device)
