"""One training by several processes, each with its share of every batch: PyTorch's DDP.

`torchrun --nproc-per-node=2 -m annotated_transformer train …` starts them. Without it, a
process is a team of one, for which all this changes nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from annotated_transformer.text.batching import Batch


@contextmanager
def join_process_group() -> Iterator["Team"]:
    """Join the other processes that torchrun started, if it did."""
    if not dist.is_torchelastic_launched():
        yield Team()
        return
    cuda = torch.cuda.is_available() and dist.is_nccl_available()
    dist.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo")
    try:
        yield Team()
    finally:
        dist.destroy_process_group()


class Team:
    """The processes of one training, of which the first, of rank 0, speaks and writes."""

    def __init__(self) -> None:
        """Find out who is there."""
        together = dist.is_initialized()
        self.rank = dist.get_rank() if together else 0
        self.size = dist.get_world_size() if together else 1

    def wrap(self, model: nn.Module) -> nn.Module:
        """Return what computes as `model`, and gives all the mean of their gradients."""
        if self.size == 1:
            return model
        if self.rank > 0:
            torch.manual_seed(torch.initial_seed() + self.rank)  # each has its own dropout
        return DistributedDataParallel(model, broadcast_buffers=False)

    def share(self, batch: Batch) -> tuple[Batch, float]:
        """Return this process's share of a batch, and the part of its labels in it."""
        if self.size == 1:
            return batch, 1.0
        mine = slice(self.rank, None, self.size)
        if not batch.rows[mine]:  # nothing is left; yet all must compute, to stay in step
            return replace(batch, rows=batch.rows[:1], src=batch.src[:1], tgt=batch.tgt[:1]), 0.0
        share = replace(batch, rows=batch.rows[mine], src=batch.src[mine], tgt=batch.tgt[mine])
        return share, share.num_labels / batch.num_labels

    def total(self, number: float) -> float:
        """Return the sum of all processes' numbers."""
        if self.size == 1:
            return number
        numbers = torch.tensor([number], dtype=torch.float64)
        dist.all_reduce(numbers)
        return numbers.item()

    def decide(self, question: bool) -> bool:
        """Return what the first process thinks, so that all do the same."""
        return self.total(float(question and self.rank == 0)) > 0

    def any(self, question: bool) -> bool:
        """Return whether any process answers yes, so that all do the same."""
        return self.total(float(question)) > 0

    def gather(self, tensor: Tensor) -> list[Tensor]:
        """Return each process's tensor, in the order of their ranks."""
        if self.size == 1:
            return [tensor]
        tensors = [torch.empty_like(tensor) for _ in range(self.size)]
        dist.all_gather(tensors, tensor)
        return tensors
