"""A function recorded as a CUDA graph: the same kernels again, without the time that launching them takes.

Nobody has run the recording on a card yet. On a CPU, the function is called on the same tensors instead, so
that all of the bookkeeping around it is tested there.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Function = Callable[..., tuple[Tensor, ...]]
WARM_UP = 3  # calls before the recording, in which libraries allocate what they need


class Recorded:
    """A function of tensors that is recorded once, and then replayed on new values of its inputs.

    The function must do the same work at each call: no shape, and no branch in Python, may depend on values.
    It is called `WARM_UP` times before that, so what it changes besides its outputs must be the same after
    another call with the same inputs, or be restored by the caller.
    """

    def __init__(
        self,
        function: Function,
        inputs: tuple[Tensor, ...],
        *,
        device: torch.device,
        pool: Any = None,
    ) -> None:
        """Call the function on copies of `inputs`, and record it if `device` is CUDA.

        Args:
            function: What is recorded. It returns a tuple of tensors, which may be empty.
            inputs: Tensors of the shapes and types that it will be called with.
            device: Where they are.
            pool: Memory to share with other recordings, from `torch.cuda.graph_pool_handle()`. They overwrite
                each other's intermediate results and outputs, so use the outputs before the next replay.
        """
        self.inputs = tuple(given.detach().clone() for given in inputs)
        self.shapes = [tuple(given.shape) for given in inputs]
        self.graph: torch.cuda.CUDAGraph | None = None
        if device.type == "cuda":
            with torch.cuda.device(device):
                self.graph = torch.cuda.CUDAGraph()
                self.outputs = self._record(self.graph, function, pool)
        else:
            self.function = function  # a graph needs it no longer, and a cycle would keep its memory
            self.outputs = [self._call(function) for _ in range(WARM_UP)][-1]

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Return the outputs for these inputs: the same tensors at each call, with new values.

        Raises:
            ValueError: If the inputs have other shapes than those at the recording.
        """
        if (shapes := [tuple(given.shape) for given in inputs]) != self.shapes:
            raise ValueError(
                f"the inputs have the shapes {shapes}, and the function was recorded with {self.shapes}; "
                f"record it again for these"
            )
        with torch.no_grad():
            for own, given in zip(self.inputs, inputs, strict=True):
                own.copy_(given, non_blocking=True)
        if self.graph is not None:
            self.graph.replay()
            return self.outputs
        new = self._call(self.function)
        with torch.no_grad():
            for output, value in zip(self.outputs, new, strict=True):
                output.copy_(value)
        return self.outputs

    def _call(self, function: Function) -> tuple[Tensor, ...]:
        return tuple(output.detach() for output in function(*self.inputs))

    def _record(self, graph: torch.cuda.CUDAGraph, function: Function, pool: Any) -> tuple[Tensor, ...]:
        """Warm up on a stream of its own, as PyTorch asks for, and record."""
        current, aside = torch.cuda.current_stream(), torch.cuda.Stream()
        aside.wait_stream(current)
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                self._call(function)
        current.wait_stream(aside)
        # By default, it would record on a stream of the first device that recorded anything, and refuse what
        # other threads do meanwhile.
        with torch.cuda.graph(graph, pool=pool, stream=aside, capture_error_mode="thread_local"):
            return self._call(function)


def power_of_2(number: int, least: int = 1) -> int:
    """Return the smallest power of two that is neither below `number` nor below `least`, which is one.

    Sizes that are rounded up to it have few values, each of which is recorded.
    """
    return max(least, 1 << max(number - 1, 0).bit_length())
