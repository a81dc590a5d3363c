"""Whether an attention can be called with the newest queries alone, as a cache of keys and values does."""

from typing import cast

from torch import nn

from annotated_transformer.model import attention as kinds
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.plain import NotPlain, refuse_changed, unwrap

OURS = kinds.ScaledDotProductAttention, kinds.FusedAttention, kinds.AdditiveAttention


def refuse_uncacheable(
    name: str, attention: nn.Module, cache: str, because: str
) -> None:
    """Refuse an attention that a cache cannot call with the newest queries alone.

    Raises:
        NotPlain: If its `forward` is overridden or has hooks, or if it or the attention in its heads is of a
            class that is not ours and has no attribute `cacheable = True`; `because` ends the message.
    """
    refuse_changed(name, attention, MultiHeadAttention, "forward", because=because)
    inner = cast(nn.Module, attention.attention)
    for path, part in (name, unwrap(attention)), (f"{name}.attention", unwrap(inner)):
        ours = type(part) in (MultiHeadAttention, *OURS)
        marks = "same_in_evaluation", "cacheable"
        if not (ours or any(getattr(part, mark, False) for mark in marks)):
            kind = type(part).__name__
            raise NotPlain(
                f"{path} is a {kind}, which {cache} would call with one query at a time; give {kind} the "
                f"attribute cacheable = True if a query's output does not depend on the others (its position "
                f"is the last of the keys'), or {because.rpartition(', or ')[2]}"
            )
