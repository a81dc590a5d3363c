"""Whether to use the accelerated twins where the caller leaves the choice to us."""

from collections.abc import Callable
from typing import TypeVar

from annotated_transformer.model.transformer import Transformer

M = TypeVar("M", bound=Transformer)


def choose_fast(fast: bool | None, model: M, refuse: Callable[[M], object]) -> bool:
    """Return `fast`, or if it is None, whether the twins, which are made for CPUs, suit model and device.

    `refuse` raises a `ValueError` for a model with a changed part that a twin would not call.
    """
    if fast is not None:
        return fast
    if model.embedding.weight.device.type != "cpu":
        return False
    try:
        refuse(model)
    except ValueError:
        return False
    return True
