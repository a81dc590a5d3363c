"""What rank 0 of a process group finds in files, known to all: the others may be on machines without them."""

from collections.abc import Callable
from typing import TypeVar

import torch.distributed as dist

T = TypeVar("T")


def from_rank_0(compute: Callable[..., T], *args: object, **kwargs: object) -> T:
    """Return what `compute(*args, **kwargs)` returns in rank 0, or raise its exception, in every process."""
    if not dist.is_initialized():
        return compute(*args, **kwargs)
    outcome: list[T | Exception | None] = [None]
    if dist.get_rank() == 0:
        try:
            outcome = [compute(*args, **kwargs)]
        except Exception as error:  # the others wait for it
            outcome = [error]
    dist.broadcast_object_list(outcome)
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]  # type: ignore[return-value]
