"""What rank 0 of a process group finds in files, known to all: the others may be on machines without them."""

import os
from collections.abc import Callable
from typing import TypeVar

import torch.distributed as dist

T = TypeVar("T")


def from_rank_0(compute: Callable[..., T], *args: object, **kwargs: object) -> T:
    """Return what `compute(*args, **kwargs)` returns in rank 0, or raise its exception, in every process."""
    refuse_unjoined()
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


def started_processes() -> int:
    """Return how many processes torchrun, or another launcher, says that it has started together."""
    return int(os.environ.get("WORLD_SIZE") or 1)


def refuse_unjoined() -> None:
    """Raise RuntimeError if this is one of several processes, and has not joined the others."""
    if (processes := started_processes()) > 1 and not dist.is_initialized():
        raise RuntimeError(
            f"WORLD_SIZE={processes}, so {processes} processes were started together, and this one has not "
            f"joined the others: each would train a model of its own; train inside join_process_group(), a "
            f"context of annotated_transformer.training, or start a single process"
        )
