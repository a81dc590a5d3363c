"""A computation on a GPU that is recorded once and then replayed: a CUDA graph.

An update of a small model starts thousands of kernels, which takes a CPU longer than the GPU takes to run
them. A replay starts all of them at once. It repeats the same kernels on the same memory, so whatever changes
from call to call has to lie in tensors of fixed shapes.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

WARM_UPS = 2  # calls before recording, in which libraries allocate their own memory


class Recorded:
    """A function of tensors, with its inputs and its result in the same memory at each call.

    On a GPU, its kernels are recorded and replayed. On a CPU, which can record nothing, the function is
    called; everything else is the same. We have not run it on a GPU yet.
    """

    def __init__(self, function: Callable[..., Tensor], *inputs: Tensor, pool: Any = None) -> None:
        """Call the function on copies of the inputs, which must be on its device, and record it.

        Args:
            function: It must not read a number from the GPU, and may use only tensors that stay in memory.
                What it writes to other tensors is written by the calls before the recording, too.
            inputs: Examples of its inputs.
            pool: The memory that several recordings share, of `torch.cuda.graph_pool_handle()`. Then the
                result is lost when another one is replayed.
        """
        self.function = function
        self.inputs = tuple(own.clone() for own in inputs)
        self.graph = torch.cuda.CUDAGraph() if self.inputs[0].is_cuda else None
        if self.graph is not None:
            self._record(self.graph, pool)

    def __call__(self, *inputs: Tensor) -> Tensor:
        """Return the result for these inputs, which the next call overwrites."""
        for own, given in zip(self.inputs, inputs, strict=True):
            own.copy_(given, non_blocking=True)
        if self.graph is None:
            return self.function(*self.inputs)
        self.graph.replay()
        return self.result

    def _record(self, graph: torch.cuda.CUDAGraph, pool: Any) -> None:
        """Record the function, without a trace in the state of dropout's random generator."""
        random, stream = torch.cuda.get_rng_state(), torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UPS):
                self.function(*self.inputs)
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.set_rng_state(random)
        with torch.cuda.graph(graph, pool=pool, stream=stream):
            self.result = self.function(*self.inputs)
