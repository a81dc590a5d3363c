"""Whether an attention can be called with the newest queries alone, as a cache of keys and values does."""

from torch import nn

from annotated_transformer.model.attention import (
    AdditiveAttention,
    FusedAttention,
    ScaledDotProductAttention,
)
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.plain import NotPlain, refuse_changed, unwrap

CACHEABLE = (
    MultiHeadAttention,
    ScaledDotProductAttention,
    FusedAttention,
    AdditiveAttention,
)


def refuse_uncacheable(
    name: str, attention: nn.Module, cache: str, because: str
) -> None:
    """Refuse an attention that a cache cannot call with the newest queries alone.

    Raises:
        NotPlain: If its `forward` is overridden or has hooks, or if it or the attention in its heads is of a
            class that is not ours and has no attribute `cacheable = True`; `because` ends the message.
    """
    refuse_changed(name, attention, MultiHeadAttention, "forward", because=because)
    parts = {name: attention, f"{name}.attention": attention.attention}
    for path, part in parts.items():
        part = unwrap(part)
        ours = type(part) in CACHEABLE or getattr(part, "same_in_evaluation", False)
        if not (ours or getattr(part, "cacheable", False)):
            kind = type(part).__name__
            raise NotPlain(
                f"{path} is a {kind}, which {cache} would call with one query at a time; give {kind} the "
                f"attribute cacheable = True if a query's output does not depend on the others (its position "
                f"is the last of the keys'), or {because.rpartition(', or ')[2]}"
            )
