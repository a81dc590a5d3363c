"""Numbers that a GPU has still to compute, while the CPU goes on: the chapter on training.

A CPU that reads a number waits until the GPU has computed it, and then the GPU waits for work. So the loss of
an update is read some updates later.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

LATE = {"cuda": 4}  # updates, by device: as many may be under way while the CPU prepares the next


@dataclass(frozen=True)
class Update:
    """What a report or an error message says about one update of the weights.

    Attributes:
        step: Its number, from 1.
        lr: Its learning rate.
        epoch: Its epoch, from 1.
        batches: The first and the last batch of this epoch that it used, from 1.
        rows: The indices of their pairs.
        labels: How many labels they have.
    """

    step: int
    lr: float
    epoch: int
    batches: tuple[int, int]
    rows: list[int]
    labels: int


class LateNumbers:
    """The loss of an update and the norm of its gradient, on their way to the CPU."""

    def __init__(self, update: Update, numbers: Tensor) -> None:
        """Ask for both numbers without waiting for them."""
        self.update = update
        self.numbers = numbers.to("cpu", non_blocking=True)
        self.arrived = torch.cuda.Event() if numbers.is_cuda else None
        if self.arrived:
            self.arrived.record(torch.cuda.current_stream(numbers.device))

    def read(self) -> tuple[float, float]:
        """Wait for the numbers, and return the loss and the norm."""
        if self.arrived:
            self.arrived.synchronize()
        loss, norm = self.numbers.tolist()
        return loss, norm
