"""What every decoding method shares: the first token is BOS, and no target holds PAD or BOS after it."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.config import TransformerConfig


def first_tokens(
    src: Int[Tensor, "batch src_tokens"], config: TransformerConfig
) -> Int[Tensor, " batch"]:
    """Return BOS, the token that every target begins with, for each source."""
    return torch.full_like(src[:, 0], config.bos_id)


def suppress_tokens(
    logits: Float[Tensor, "rows vocab"], config: TransformerConfig
) -> Float[Tensor, "rows vocab"]:
    r"""Set the logits of PAD and BOS to $-\infty$, in place: neither occurs within a target."""
    logits[:, config.pad_id] = -math.inf
    logits[:, config.bos_id] = -math.inf
    return logits
