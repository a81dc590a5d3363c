"""A stack whose attentions remember keys and values, so that it is called with the newest tokens alone."""

from typing import TypeVar, cast

import torch
from torch import Tensor, nn
from typing_extensions import TypeIs

from annotated_transformer.model.attention import (
    AdditiveAttention,
    FusedAttention,
    ScaledDotProductAttention,
)
from annotated_transformer.model.multi_head_attention import MultiHeadAttention
from annotated_transformer.model.plain import (
    GLOBAL_HOOKS,
    WRAPPED,
    NotPlain,
    any_hook,
    hooks_of,
    plain_name,
    shallow_copy,
    unwrap,
)

KINDS = ScaledDotProductAttention, FusedAttention, AdditiveAttention
MARKS = "cacheable", "same_in_evaluation"  # of attentions of other kinds
T = TypeVar("T", bound=nn.Module)


def is_attention(module: nn.Module) -> TypeIs[MultiHeadAttention]:
    """Return whether it is one by its method: a notebook may have reloaded the class."""
    return hasattr(type(module), "project_memory")


class AttentionCache:
    """What a cached attention calls instead of its own `project_memory`.

    Attributes:
        pairs: The keys and the values so far, (batch, heads, keys, d_k or d_v).
        cross: Whether they are those of the memory, which is known at the first call.
    """

    pairs: tuple[Tensor, Tensor]
    cross: bool | None = None

    def __init__(self, attention: MultiHeadAttention, memory: Tensor | None) -> None:
        """Begin with no keys; a decoder's layers give its cross-attentions this `memory`."""
        self.project, self.memory = attention.project_memory, memory

    def __call__(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and values of the memory, or of all tokens so far."""
        if self.cross is None:
            self.cross, self.memory = key is self.memory, None
            self.pairs = self.project(key, value)
        elif not self.cross:
            keys, values = self.project(key, value)
            self.pairs = (
                torch.cat([self.pairs[0], keys], dim=2),
                torch.cat([self.pairs[1], values], dim=2),
            )
        return self.pairs

    def select(self, rows: Tensor, memory: Tensor | None = None) -> None:
        """Keep the keys and values of these rows, of which `memory` is that of the decoder."""
        if self.cross is None:
            self.memory = memory
        else:
            self.pairs = self.pairs[0][rows], self.pairs[1][rows]


def with_cache(
    stack: T, memory: Tensor | None = None
) -> tuple[T, list[AttentionCache]]:
    """Return a copy of a stack whose attentions remember, and what they remember.

    Only the modules from the stack down to an attention are copied, and they share all parts but
    `project_memory`. So an edited `forward`, an attribute, a parameter, or a further sub-layer counts.
    """
    caches: list[AttentionCache] = []
    copies: dict[nn.Module, nn.Module] = {}  # a part may be in several places

    def copied(module: nn.Module) -> nn.Module:
        module = cast(nn.Module, module._modules.get(WRAPPED, module))
        if module not in copies:
            copies[module] = new_copy(module)
        return copies[module]

    def new_copy(module: nn.Module) -> nn.Module:
        if is_attention(module):
            attention = shallow_copy(module)
            attention.project_memory = AttentionCache(module, memory)  # type: ignore[method-assign]
            caches.append(attention.project_memory)
            return attention
        parts = dict(module._modules)
        for name, part in parts.items():
            if part is not None and part._modules:
                parts[name] = copied(part)
        if parts == module._modules:
            return module
        module = shallow_copy(module)
        module._modules.update(parts)
        return module

    return cast(T, copied(stack)), caches


def refuse_uncacheable(root: str, stack: nn.Module, cache: str, way_out: str) -> None:
    """Refuse a stack that a cache would not call as the model does; `root` is its name in the model.

    A hook would see one token at a time, and an attention of another kind may need all queries.
    """
    if any_hook(*GLOBAL_HOOKS):
        raise NotPlain(
            f"all modules have hooks, which {cache} would not call; remove them, or {way_out}"
        )
    for path, module in stack.named_modules():
        name, module = plain_name(f"{root}.{path}".rstrip(".")), unwrap(module)
        attends = any(map(is_attention, module.modules()))
        if attends and any_hook(*hooks_of(module)):
            raise NotPlain(
                f"{name} has hooks, which {cache} would call with one token at a time; "
                f"remove them, or {way_out}"
            )
        if is_attention(module):
            refuse_several_queries(name, module, cache, way_out)


def refuse_several_queries(
    name: str, attention: nn.Module, cache: str, way_out: str
) -> None:
    """Refuse an attention that is not known to give a query the same output without the others."""
    part: nn.Module | None = attention
    while part is not None:  # an attention may pass its queries on to another one
        part = unwrap(part)
        known = is_attention(part) or type(part) in KINDS
        if not (known or any(getattr(part, mark, False) for mark in MARKS)):
            kind = type(part).__name__
            raise NotPlain(
                f"{name} is a {kind}, which {cache} would call with one query at a time; give {kind} the "
                f"attribute cacheable = True if a query's output does not depend on the others (its position "
                f"is the last of the keys'), or {way_out}"
            )
        part, name = getattr(part, "attention", None), f"{name}.attention"
