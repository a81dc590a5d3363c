"""Checks of what the model's modules receive, with their messages, to keep them out of the formulas.

`@refuses(unequal_batches)` above a function runs that check before the function, where PyTorch would
compute something that nobody meant. `@explains(unequal_widths)` runs it only if the function has failed,
to say why in place of PyTorch's error. A check receives those of the function's arguments that it names;
their places are looked up when the function is defined. The checks of token ids are in `id_checks`.
"""

import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor, nn

P = ParamSpec("P")
T = TypeVar("T")
MISSING = inspect.Parameter.empty


_THREAD = threading.local()  # `trusts` is True inside `trusting`


@contextmanager
def trusting(shapes: bool) -> Iterator[None]:
    """Leave out the checks of `refuses` in this thread, if `shapes` are those of an earlier call."""
    before, _THREAD.trusts = getattr(_THREAD, "trusts", False), shapes
    try:
        yield
    finally:
        _THREAD.trusts = before


def refuses(
    *checks: Callable[..., None],
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that runs `checks` before each call of a function."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        run = _runner(function, checks)

        @functools.wraps(function)
        def checked(*inputs: P.args, **options: P.kwargs) -> T:
            if torch.compiler.is_compiling() or not getattr(_THREAD, "trusts", False):
                run(inputs, options)
            return function(*inputs, **options)

        return checked

    return decorate


def explains(
    *checks: Callable[..., None],
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that runs `checks` after a call has failed, to raise their error instead."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        run = _runner(function, checks)

        @functools.wraps(function)
        def explained(*inputs: P.args, **options: P.kwargs) -> T:
            try:
                output = function(*inputs, **options)
            except Exception:
                try:
                    run(inputs, options)
                except (TypeError, ValueError) as refusal:
                    raise refusal from None
                raise
            if getattr(output, "is_meta", False):  # there, PyTorch mixes devices
                run(inputs, options)
            return output

        return explained

    return decorate


def _runner(
    function: Callable[..., Any], checks: tuple[Callable[..., None], ...]
) -> Callable[[tuple[Any, ...], dict[str, Any]], None]:
    """Return what runs `checks` on the arguments of a call of `function`."""
    parameters = inspect.signature(function).parameters
    names = list(parameters)  # lists: PyTorch 2.6 cannot trace other mappings
    defaults = [parameter.default for parameter in parameters.values()]
    placed = [
        (check, [names.index(name) for name in inspect.signature(check).parameters])
        for check in checks
    ]
    needed = 1 + max(place for _, places in placed for place in places)

    def run(inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
        given, runnable = inputs, placed
        if options or len(given) < needed:
            values = zip(names, [*inputs, *defaults[len(inputs) :]], strict=False)
            given = tuple(options.get(name, value) for name, value in values)
            # otherwise Python names what is missing
            runnable = [x for x in placed if all(given[i] is not MISSING for i in x[1])]
        for check, places in runnable:
            check(*[given[place] for place in places])

    return run


def unequal_widths(query: Tensor, key: Tensor) -> None:
    """Raise ValueError if query and key differ in width: they have no dot product.

    It also raises the errors of `_refuse_unlike`.
    """
    _refuse_unlike("key", key, "the query", query)
    if query.size(-1) != key.size(-1):
        raise ValueError(
            f"query has d_k={query.size(-1)} features and key {key.size(-1)}, "
            f"so they have no dot product; project both to one width"
        )


def unpaired_values(key: Tensor, value: Tensor) -> None:
    """Raise ValueError if there are not as many values as keys, or on another device."""
    refuse_other_device("value", value, "the key", key)
    if key.size(-2) != value.size(-2):
        raise ValueError(
            f"{key.size(-2)} keys but {value.size(-2)} values; give each key its value"
        )


def unlike_values(key: Tensor, value: Tensor) -> None:
    """Raise the errors of `_refuse_unlike` for values, which are averaged in the keys' type."""
    _refuse_unlike("value", value, "the key", key)


def unfit_mask(scores: Tensor, mask: Tensor | None) -> None:
    """Raise an error if the meaning of a mask would have to be guessed.

    That is a TypeError if the mask is not boolean, and a ValueError if its dimensions are
    ambiguous or do not fit those of the scores.
    """
    if mask is not None:
        _refuse_mask(mask, tuple(scores.shape), "the scores", scores)


def unfit_mask_of_pairs(query: Tensor, key: Tensor, mask: Tensor | None) -> None:
    """Raise the errors of `unfit_mask` where there are no scores."""
    if mask is not None:
        _refuse_mask(mask, (*query.shape[:-1], key.size(-2)), "the query", query)


def _refuse_mask(
    mask: Tensor, wanted: tuple[int, ...], other_name: str, other: Tensor
) -> None:
    _refuse_no_tensor("mask", mask)
    if mask.dtype != torch.bool:
        raise TypeError(
            f"mask has dtype {mask.dtype}, whose zeros could mean either; "
            f"give a torch.bool mask, True where a query may attend"
        )
    shape = tuple(mask.shape)
    if mask.ndim not in (2, len(wanted)):
        raise ValueError(
            f"mask of shape {shape} has {mask.ndim} dimensions where the scores, "
            f"of shape {wanted}, have {len(wanted)}: is its first one batch or heads? "
            f"Give (queries, keys) or (batch, heads, queries, keys)"
        )
    sizes = zip(shape[::-1], wanted[::-1], strict=False)
    if any(size not in (1, full) for size, full in sizes):
        raise ValueError(
            f"mask of shape {shape} does not broadcast to the scores' shape {wanted}; "
            f"the last two sizes are queries and keys"
        )
    refuse_other_device("mask", mask, other_name, other)


def _refuse_no_tensor(name: str, x: object) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} is of type {type(x).__name__}; give a tensor")


def refuse_other_device(name: str, x: Tensor, other_name: str, other: Tensor) -> None:
    """Raise ValueError if two tensors are on different devices, TypeError if one is no tensor."""
    _refuse_no_tensor(name, x)
    _refuse_no_tensor(other_name, other)
    if x.device != other.device:
        way_out = f"move one of them, for example by .to({str(other.device)!r})"
        if x.is_meta or other.is_meta:
            way_out = (
                "tensors on 'meta' have no values; create them on the other device, or load "
                "weights by load_state_dict(…, assign=True)"
            )
        raise ValueError(
            f"two devices: {name} of shape {tuple(x.shape)} on {x.device}, {other_name} on "
            f"{other.device}; {way_out}"
        )


def _refuse_unlike(name: str, x: Tensor, other_name: str, other: Tensor) -> None:
    """Raise ValueError if two tensors differ in device, TypeError if they differ in type.

    Autocast converts types, so any type is accepted there.
    """
    refuse_other_device(name, x, other_name, other)
    if x.dtype != other.dtype and not torch.is_autocast_enabled(x.device.type):
        raise TypeError(
            f"{name} has dtype {x.dtype}, unlike {other_name} ({other.dtype}); "
            f"convert one of them, for example by .to({other.dtype})"
        )


def unlike_weights(x: Tensor, weight: object, name: str) -> None:
    """Raise the errors of `_refuse_unlike` for the weights."""
    # A replaced module may store its weights differently.
    _refuse_unlike(name, x, "the weights", weight if isinstance(weight, Tensor) else x)


def other_widths(self: Any, query: Tensor, key: Tensor) -> None:
    """Raise ValueError if a width is not one that `AdditiveAttention` was made for.

    It also raises the errors of `unlike_weights`.
    """
    for name, x, linear in (
        ("query", query, self.to_query),
        ("key", key, self.to_key),
    ):
        unlike_weights(x, linear.weight, name)
        if x.size(-1) != linear.in_features:
            raise ValueError(
                f"{name} has {x.size(-1)} features, this layer reads d_{name}="
                f"{linear.in_features}; give that width, or make the layer for yours"
            )


def uneven_heads(
    d_model: int, num_heads: int, d_k: int | None, d_v: int | None
) -> None:
    """Raise ValueError if there is no head, or its width is not given and not a whole number."""
    if num_heads < 1 or (None in (d_k, d_v) and d_model % num_heads != 0):
        choices = [h for h in range(1, d_model + 1) if d_model % h == 0]
        raise ValueError(
            f"d_model={d_model} does not split into num_heads={num_heads} equal "
            f"heads; choose num_heads from {choices}, or give both d_k and d_v"
        )


def unequal_batches(query: Tensor, key: Tensor) -> None:
    """Raise ValueError if one sentence of queries or keys would be broadcast."""
    if query.size(0) != key.size(0):  # `len` would fix the size in an exported program
        raise ValueError(
            f"query holds {len(query)} sentences and key {len(key)}; give equal batches"
        )


def other_tokens(projection: nn.Linear, x: Tensor, name: str) -> None:
    """Raise ValueError if `x` is not a batch of tokens of the model's width.

    It also raises the errors of `unlike_weights`.
    """
    unlike_weights(x, getattr(projection, "weight", None), name)
    if x.ndim != 3 or x.size(-1) != projection.in_features:
        raise ValueError(
            f"{name} has shape {tuple(x.shape)}; "
            f"give (batch, tokens, d_model={projection.in_features})"
        )


def other_config(config: object) -> None:
    """Raise TypeError if a model is not described by a `TransformerConfig`."""
    # Imported here, because a layer alone needs no config.
    from annotated_transformer.config import TransformerConfig

    if not isinstance(config, TransformerConfig):
        raise TypeError(
            f"config={config!r} is not a TransformerConfig; give BASE, BIG, TINY, or "
            f"TransformerConfig(…), all of which annotated_transformer has"
        )


def built_module(module: Any, make: Callable[..., Any], place: str) -> Any:
    """Return what a registered function has made, or raise TypeError if it is not a module."""
    if not isinstance(module, nn.Module):
        raise TypeError(
            f"{make.__qualname__}(config, {place!r}) has returned {module!r}; return a module with the call "
            f"of MultiHeadAttention for each of the places encoder, decoder, and cross"
        )
    return module


def other_hidden(self: Any, hidden: Tensor) -> None:
    """Raise ValueError if hidden states do not have the width of the matrix that gives logits.

    It also raises the errors of `unlike_weights`.
    """
    unlike_weights(hidden, self.weight, "hidden")
    d_model = self.weight.size(1)
    if hidden.size(-1) != d_model:
        raise ValueError(
            f"hidden has {hidden.size(-1)} features, this matrix d_model={d_model}; "
            f"give hidden states of that width"
        )


def other_inputs(self: Any, x: Tensor) -> None:
    """Raise ValueError if `x` is not as wide as what the feed-forward network expands.

    It also raises the errors of `unlike_weights`.
    """
    unlike_weights(x, getattr(self.expand, "weight", None), "x")
    if x.size(-1) != self.expand.in_features:
        raise ValueError(
            f"x has {x.size(-1)} features, this network d_model={self.expand.in_features}; "
            f"give tokens of that width"
        )


def other_features(self: Any, x: Tensor) -> None:
    """Raise ValueError if tokens are not as wide as the norm, or on a different device.

    A width of 1 would be broadcast.
    """
    gain = self.gain
    refuse_other_device("x", x, "this norm's gain", gain)
    if x.size(-1) != len(gain):
        raise ValueError(
            f"x has {x.size(-1)} features, this norm has d_model={len(gain)}; "
            f"give tokens of that width"
        )


def odd_width(d_model: int) -> None:
    """Raise ValueError if `d_model` is odd: sines and cosines come in pairs."""
    if d_model % 2 != 0:
        raise ValueError(
            f"d_model={d_model} is odd, but sinusoids come in pairs; make it even"
        )


def positions_outside(table: Tensor, embedded: Tensor, start: int) -> None:
    """Raise ValueError if a position is out of range, or table and tokens differ in width or device."""
    refuse_other_device("tokens", embedded, "these positions", table)
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
