"""How long a translation may become: section 6.1 of the paper."""

from jaxtyping import Int
from torch import Tensor

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.id_checks import check_ids

EXTRA_TOKENS = 50  # "the maximum output length during inference [is] input length + 50"


def length_limits(src: Int[Tensor, "batch src_tokens"], config: TransformerConfig) -> Int[Tensor, " batch"]:
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
        raise ValueError(f"src of shape {tuple(src.shape)} has no sources; give at least one")
    if not real.any(dim=1).all():
        raise ValueError(
            f"src of shape {tuple(src.shape)} has an empty source: every row needs a "
            f"token that is not padding (pad_id={config.pad_id}), at least EOS"
        )
    return (real.sum(dim=1) + EXTRA_TOKENS).clamp(max=config.max_length)
