"""Attention that keeps keys and values, so that it is called with the newest queries alone."""

from typing import Any, cast

import torch
from torch import Tensor, nn

from annotated_transformer.model import attention as kinds
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.plain import NotPlain, refuse_changed, unwrap

OURS = kinds.ScaledDotProductAttention, kinds.FusedAttention, kinds.AdditiveAttention


class CachedAttention:
    """Cross-attention that has projected the memory once, for all queries to come."""

    def __init__(self, attention: MultiHeadAttention, memory: Tensor) -> None:
        """Project the memory."""
        self.attention = attention
        self.project_query, self.attend = attention.project_query, attention.attend
        self.pairs = attention.project_memory(memory, memory)

    def __call__(self, *inputs: Tensor | None) -> Tensor:
        """Run the lines of `MultiHeadAttention.forward`, with the method below."""
        return MultiHeadAttention.forward(cast(Any, self), *cast(Any, inputs))

    def project_memory(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and values of the memory, whatever is given."""
        return self.pairs

    def select(self, rows: Tensor) -> None:
        """Keep the keys and values of these rows."""
        keys, values = self.pairs
        self.pairs = keys[rows], values[rows]


class PastAttention(CachedAttention):
    """Self-attention that adds the newest tokens to what it has read before."""

    def project_memory(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and values of all tokens so far, with the newest last."""
        new = self.attention.project_memory(key, value)
        keys, values = (
            torch.cat(pair, dim=2) for pair in zip(self.pairs, new, strict=True)
        )
        self.pairs = keys, values
        return self.pairs


class CachedLayer:
    """A layer of a stack whose attentions remember keys and values."""

    def __init__(
        self, layer: nn.Module, nothing: Tensor, memory: Tensor | None = None
    ) -> None:
        """Start with no tokens, and project the memory, which a decoder layer reads."""
        layer = unwrap(layer)
        vars(self).update(layer._modules)
        self.layer, own = layer, cast(Any, layer)
        self.self_attention = PastAttention(own.self_attention, nothing)
        self.cross_attention = (
            None if memory is None else CachedAttention(own.cross_attention, memory)
        )

    def __call__(self, *inputs: Tensor | None) -> Tensor:
        """Return what the layer returns for the newest tokens, by its own lines."""
        return type(self.layer).forward(cast(Any, self), *inputs)

    def select(self, rows: Tensor) -> None:
        """Keep the keys and values of these rows."""
        self.self_attention.select(rows)
        if self.cross_attention is not None:
            self.cross_attention.select(rows)


def refuse_uncacheable(
    name: str, attention: nn.Module, cache: str, because: str
) -> None:
    """Refuse an attention that a cache cannot call with the newest queries alone."""
    refuse_changed(name, attention, MultiHeadAttention, "forward", because=because)
    part: nn.Module | None = attention
    while part is not None:  # an attention may pass its queries on to another one
        part = unwrap(part)
        ours = type(part) in (MultiHeadAttention, *OURS)
        marks = "same_in_evaluation", "cacheable"
        if not (ours or any(getattr(part, mark, False) for mark in marks)):
            kind = type(part).__name__
            raise NotPlain(
                f"{name} is a {kind}, which {cache} would call with one query at a time; give {kind} the "
                f"attribute cacheable = True if a query's output does not depend on the others (its position "
                f"is the last of the keys'), or {because.rpartition(', or ')[2]}"
            )
        part, name = getattr(part, "attention", None), f"{name}.attention"
