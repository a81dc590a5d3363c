"""Whether to use the accelerated twins where the caller leaves the choice to us."""

from collections.abc import Callable

from annotated_transformer.model.transformer import Transformer


def choose_fast(fast: bool | None, model: Transformer, refuse: Callable[[Transformer], object]) -> bool:
    """Return `fast`, or if it is None, whether the twins fit: on a CPU, for a model that they compute.

    They are made for CPUs. `refuse` raises a `ValueError` for a model with a changed part that a twin would
    not call.
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
