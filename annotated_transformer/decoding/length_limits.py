"""How long a translation may become: section 6.1."""

from jaxtyping import Int
from torch import Tensor

from annotated_transformer.model.checks import check_ids
from annotated_transformer.model.transformer import Transformer

EXTRA_TOKENS = 50  # "the maximum output length during inference [is] input length + 50"


def length_limits(model: Transformer, src: Int[Tensor, "batch src_tokens"]) -> Int[Tensor, " batch"]:
    """Return the maximum length of each target: 50 tokens more than its source.

    Raises:
        TypeError: If the sources are not a tensor of integers.
        ValueError: If they do not have two dimensions, or a source is empty.
    """
    check_ids(src, "source ids")
    real = src != model.config.pad_id
    if not len(src):
        raise ValueError(f"src of shape {tuple(src.shape)} has no sources; give at least one")
    if not real.any(dim=1).all():
        raise ValueError(
            f"src of shape {tuple(src.shape)} has an empty source: every row needs a "
            f"token that is not padding (pad_id={model.config.pad_id}), at least EOS"
        )
    return (real.sum(dim=1) + EXTRA_TOKENS).clamp(max=model.config.max_length)
