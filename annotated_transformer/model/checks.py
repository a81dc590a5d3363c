"""Checks of what the model's modules receive, to keep them out of the formulas.

There are checks only where PyTorch would compute something that nobody meant, or where its own message is a
riddle to a beginner; those are explained after it was raised. Checks of token ids are in `id_checks`.
"""

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor, nn

P = ParamSpec("P")
T = TypeVar("T")


def refuses(*checks: Callable[..., None]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that runs `checks` before each call of a function."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def checked(*inputs: P.args, **options: P.kwargs) -> T:
            try:
                for check in checks:
                    check(*inputs, **options)
            except TypeError:
                inspect.signature(function).bind(
                    *inputs, **options
                )  # whose error names no check
                raise
            return function(*inputs, **options)

        return checked

    return decorate


def refuse_unfit_mask(scores: Tensor, mask: Tensor) -> None:
    """Raise an error if the meaning of a mask would have to be guessed.

    That is a TypeError if the mask is not boolean, and a ValueError if its dimensions are
    ambiguous. PyTorch refuses one that does not broadcast to the scores.
    """
    if mask.dtype != torch.bool:
        raise TypeError(
            f"mask has dtype {mask.dtype}, whose zeros could mean either; "
            f"give a torch.bool mask, True where a query may attend"
        )
    if mask.ndim not in (2, scores.ndim):
        raise ValueError(
            f"mask of shape {tuple(mask.shape)} has {mask.ndim} dimensions where the scores, "
            f"of shape {tuple(scores.shape)}, have {scores.ndim}: is its first one batch or heads? "
            f"Give (queries, keys) or (batch, heads, queries, keys)"
        )
    mask.expand(scores.shape)  # or one with more sentences would repeat the scores


def refuse_unfit_pairs(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> None:
    """Raise the errors of `refuse_unfit_mask`, or ValueError if there are not as many values as keys.

    PyTorch's fused kernel reads beyond the end of values that are fewer.
    """
    if key.size(-2) != value.size(-2):
        raise missing_values(key, value)
    if mask is not None:
        scores = query.new_empty(1).expand(*query.shape[:-1], key.size(-2))
        refuse_unfit_mask(scores, mask)


def missing_values(key: Tensor, value: Tensor) -> ValueError:
    """Return the error that there are not as many values as keys."""
    return ValueError(
        f"{key.size(-2)} keys but {value.size(-2)} values; give each key its value"
    )


def refuse_unequal(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise ValueError if one sentence would be broadcast, or a key has no value."""
    # `len` would fix the size in an exported program.
    if query.shape[0] != key.shape[0]:
        raise ValueError(
            f"query holds {len(query)} sentences and key {len(key)}; give equal batches"
        )
    if key.shape[0] != value.shape[0]:
        raise ValueError(
            f"key holds {len(key)} sentences and value {len(value)}; give equal batches"
        )
    if key.size(-2) != value.size(-2):
        raise missing_values(key, value)


def explain_tokens(x: Tensor, projection: nn.Module, error: Exception) -> Exception:
    """Return an error that names the shape needed if that is what PyTorch refused; else its own."""
    d_model = getattr(projection, "in_features", x.shape[-1])
    if x.ndim == 3 and x.size(-1) == d_model:
        return error
    one = "; one sentence is x[None]" if x.ndim == 2 else ""
    return ValueError(
        f"tokens of shape {tuple(x.shape)} do not fit attention with d_model={d_model}; "
        f"give (batch, tokens, {d_model}){one}"
    )


def refuse_distances(cross_attention: nn.Module) -> None:
    """Raise ValueError if it would count distances, between positions of two sentences."""
    for part in cross_attention.modules():
        if getattr(part, "counts_distances", False):
            kind = type(part).__name__
            raise ValueError(
                f"cross-attention has a {kind}, which counts distances, and its queries and keys are "
                f"positions of two sentences; use {kind} in self-attention only, and another attention "
                f"where the place is 'cross'"
            )


def other_width(x: Tensor, gain: Tensor) -> ValueError:
    """Return the error that tokens are not as wide as a norm."""
    return ValueError(
        f"x has {x.size(-1)} features, this norm has d_model={len(gain)}; "
        f"give tokens of that width"
    )


def refuse_positions_outside(table: Tensor, embedded: Tensor, start: int) -> None:
    """Raise ValueError if a position is out of range, or a width of 1 would be broadcast."""
    max_length, d_model = table.shape
    end = start + embedded.size(1)
    if start < 0:
        raise ValueError(f"start={start}, but positions count from 0; give 0 or more")
    if embedded.size(-1) != d_model:
        raise ValueError(
            f"tokens have {embedded.size(-1)} features, these positions d_model={d_model}; "
            f"give tokens of that width"
        )
    if end > max_length:
        raise ValueError(
            f"a sequence of {end} tokens is longer than the {max_length} positions of this "
            f"model; shorten it, or build the model with max_length={end} or more"
        )
