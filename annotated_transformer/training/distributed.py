"""Data-parallel training: the processes that torchrun starts share each batch, through PyTorch's DDP.

Without torchrun, the process group has one process, and its methods change nothing.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from annotated_transformer.checkpointing.rank_0 import refuse_unjoined, started_processes
from annotated_transformer.checkpointing.training_state_file import setting_changes
from annotated_transformer.text.batching import Batch


@contextmanager
def join_process_group() -> Iterator["ProcessGroup"]:
    """Join the processes that torchrun, or another launcher, has started; alone, change nothing.

    All of them run the same program. Inside the `with` block, `train` and `train_from_recipe` share each
    batch among them, for a `TrainableModel`, too::

        with join_process_group() as group:
            train(model, pairs, config, generator=torch.Generator().manual_seed(0))
            if group.rank == 0:
                save("model", model, tokenizer)

    `torchrun --nproc-per-node=2 program.py` starts two. In a group that the program has initialized itself,
    the context is that group, and does not end it.

    Raises:
        ConnectionError: If another process has ended.
        ValueError: If WORLD_SIZE is above 1, and the launcher does not say which process this is.
    """
    alone = not dist.is_torchelastic_launched() and started_processes() == 1
    if alone or dist.is_initialized():
        yield ProcessGroup()
        return
    if missing := [name for name in ("RANK", "MASTER_ADDR", "MASTER_PORT") if name not in os.environ]:
        raise ValueError(
            f"WORLD_SIZE={started_processes()} is set without {', '.join(missing)}; start the processes by "
            f"torchrun, or unset WORLD_SIZE to train in one"
        )
    cuda = torch.cuda.is_available() and dist.is_nccl_available()
    dist.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo")
    group = ProcessGroup()
    try:
        yield group
    except RuntimeError as error:
        if not is_lost_connection(error):
            raise
        raise ConnectionError(
            f"process {group.rank} of {group.world_size} has lost the connection to another one, which has "
            f"ended or cannot be reached; see the messages of the others, and start all of them again "
            f"({str(error).partition(chr(10))[0]})"
        ) from error
    finally:
        dist.destroy_process_group()


def is_lost_connection(error: Exception) -> bool:
    """Return whether the error says that another process of the group did not answer."""
    return isinstance(error, dist.DistError) or (isinstance(error, RuntimeError) and "gloo" in str(error))


class ProcessGroup:
    """The processes of a training run; only rank 0 logs and writes files."""

    def __init__(self) -> None:
        """Read rank and world size from `torch.distributed`, if it is initialized.

        Raises:
            RuntimeError: If several processes were started, and this one has not joined the others.
        """
        refuse_unjoined()
        initialized = dist.is_initialized()
        self.rank = dist.get_rank() if initialized else 0
        self.world_size = dist.get_world_size() if initialized else 1

    def refuse_unequal(self, identity: Mapping[str, object]) -> None:
        """Refuse, in every process, that they were started with different settings, seeds, or pairs."""
        if self.world_size == 1:
            return
        identities: list[Mapping[str, object]] = [{}] * self.world_size
        dist.all_gather_object(identities, identity)
        for rank, other in enumerate(identities):
            sentence = "{} is {} in process 0 and {} in process " + str(rank)
            if changes := setting_changes(identities[0], other, sentence):
                raise ValueError(
                    f"process {rank} was not started like process 0: {', '.join(changes)}; "
                    "start all with the same command, on copies of the same files"
                )

    def data_parallel(self, module: nn.Module) -> nn.Module:
        """Wrap `module` in DDP, which averages the gradients over the processes."""
        if self.world_size == 1:
            return module
        if self.rank > 0:
            torch.manual_seed(torch.initial_seed() + self.rank)  # each rank has its own dropout
        return DistributedDataParallel(module)

    def synchronized(self, objective: nn.Module, now: bool) -> AbstractContextManager[None]:
        """Return a context for a forward and a backward pass, which DDP synchronizes only if `now`.

        Until then, each rank adds up its own gradients, which saves the communication.
        """
        if now or self.world_size == 1:
            return nullcontext()
        return cast("DistributedDataParallel", objective).no_sync()

    def shard(self, batch: Batch) -> tuple[Batch, float]:
        """Return this rank's rows of a batch, and their fraction of the batch's labels."""
        if self.world_size == 1:
            return batch, 1.0
        mine = slice(self.rank, None, self.world_size)
        if not batch.rows[mine]:  # no rows are left, but every rank must take part in the update
            return replace(batch, rows=batch.rows[:1], src=batch.src[:1], tgt=batch.tgt[:1]), 0.0
        shard = replace(batch, rows=batch.rows[mine], src=batch.src[mine], tgt=batch.tgt[mine])
        return shard, shard.num_labels / batch.num_labels

    def sum(self, number: float) -> float:
        """Return the sum of a number over all ranks."""
        if self.world_size == 1:
            return number
        numbers = torch.tensor(number, dtype=torch.float64)
        dist.all_reduce(numbers)
        return numbers.item()

    def broadcast(self, number: float | bool) -> float:
        """Return rank 0's number on every rank."""
        return self.sum(float(number) if self.rank == 0 else 0.0)

    def any(self, condition: bool) -> bool:
        """Return whether the condition holds on any rank."""
        return self.sum(float(condition)) > 0

    def all_gather(self, tensor: Tensor) -> list[Tensor]:
        """Return each rank's tensor, in the order of the ranks."""
        if self.world_size == 1:
            return [tensor]
        tensors = [torch.empty_like(tensor) for _ in range(self.world_size)]
        dist.all_gather(tensors, tensor)
        return tensors
