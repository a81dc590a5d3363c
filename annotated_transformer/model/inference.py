"""Inference: no dropout (section 5.4), no gradients, which tokens may come next, and how many (6.1).

Every decoding method begins targets with BOS, and generates neither PAD nor BOS after it.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.id_checks import check_ids

EXTRA_TOKENS = 50  # "the maximum output length during inference [is] input length + 50"


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Disable dropout and gradients, and restore their previous state afterwards."""
    trained = [module for module in model.modules() if module.training]
    for module in trained:
        module.training = False
    try:
        with torch.no_grad():
            yield
    finally:
        for module in trained:
            module.training = True


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


def length_limits(
    src: Int[Tensor, "batch src_tokens"], config: TransformerConfig
) -> Int[Tensor, " batch"]:
    """Return the maximum length of each target: 50 tokens more than its source.

    Raises:
        TypeError: If the sources are not a tensor of integers.
        ValueError: If they do not have two dimensions, a source is empty, or they are on
            the device "meta", where ids have no values.
    """
    check_ids(src, "source ids")
    if src.is_meta:
        raise ValueError(
            f"source ids of shape {tuple(src.shape)} are on the device 'meta' and have no values; "
            f"give ids on the model's device"
        )
    real = src != config.pad_id
    if not len(src):
        raise ValueError(
            f"src of shape {tuple(src.shape)} has no sources; give at least one"
        )
    if not real.any(dim=1).all():
        raise ValueError(
            f"src of shape {tuple(src.shape)} has an empty source: every row needs a "
            f"token that is not padding (pad_id={config.pad_id}), at least EOS"
        )
    return (real.sum(dim=1) + EXTRA_TOKENS).clamp(max=config.max_length)
