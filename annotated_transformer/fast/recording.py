"""A function recorded as a CUDA graph: the same kernels again, without the time that launching them takes.

Nobody has run the recording on a card yet. On a CPU, the function is called on the same tensors instead, so
that all of the bookkeeping around it is tested there.
"""

from collections.abc import Callable, Hashable, Iterable
from functools import cache
from threading import Lock
from typing import Any

import torch
from torch import Tensor

Function = Callable[..., tuple[Tensor, ...]]
WARM_UP = 1  # calls before the recording, in which libraries allocate what they need
_ASIDE = Lock()  # PyTorch records one graph at a time, and whatever comes to its stream meanwhile


class Recorded:
    """A function of tensors that is called at first, then recorded, and replayed on new values of its inputs.

    The function must do the same work at each call: no shape, and no branch in Python, may depend on values.
    The calls before the recording count like the others, so a function that is only called once, as for the
    last batch of an epoch, takes no more time than without this.
    """

    def __init__(self, function: Function, *, device: torch.device, pool: Any = None) -> None:
        """Call nothing yet.

        Args:
            function: What is recorded. It returns a tuple of tensors, which may be empty.
            device: Where it computes.
            pool: Memory to share with other recordings, from `torch.cuda.graph_pool_handle()`. They overwrite
                each other's intermediate results and outputs, so use the outputs before the next call.
        """
        self.function = function
        self.device, self.pool = device, pool
        self.calls = 0
        self.inputs: tuple[Tensor, ...] = ()
        self.outputs: tuple[Tensor, ...] = ()
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Return the outputs for these inputs, which the next call may overwrite.

        Raises:
            ValueError: If the inputs have other shapes than those of the first call.
        """
        if not self.calls:
            self.inputs = tuple(torch.empty_like(given, device=self.device) for given in inputs)
        shapes, expected = ([tuple(x.shape) for x in each] for each in (inputs, self.inputs))
        if shapes != expected:
            raise ValueError(
                f"the inputs have the shapes {shapes}, and the function was recorded with {expected}; "
                f"record it again for these"
            )
        with torch.no_grad():
            for own, given in zip(self.inputs, inputs, strict=True):
                own.copy_(given, non_blocking=True)
        if self.device.type != "cuda":
            self._compute()
        elif self.graph is None:
            self._compute_aside()
        if self.graph is not None:
            self.graph.replay()
        self.calls += 1
        return self.outputs

    def _call(self) -> tuple[Tensor, ...]:
        return tuple(output.detach() for output in self.function(*self.inputs))

    def _compute(self) -> None:
        """Call the function, and overwrite the outputs, as a replay does."""
        new = self._call()
        self.outputs = self.outputs or new
        with torch.no_grad():
            for output, value in zip(self.outputs, new, strict=True):
                output.copy_(value)

    def _compute_aside(self) -> None:
        """Call or record the function on a stream of its own, as PyTorch asks for."""
        with _ASIDE, torch.cuda.device(self.device):
            current, aside = torch.cuda.current_stream(), _stream_aside(self.device)
            aside.wait_stream(current)
            if self.calls < WARM_UP:
                with torch.cuda.stream(aside):
                    self.outputs = self._call()
            else:
                self._record(aside)
            current.wait_stream(aside)

    def _record(self, aside: torch.cuda.Stream) -> None:
        inference, grad = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
        graph = torch.cuda.CUDAGraph()
        # By default, it would refuse what other threads do meanwhile. And the first graph of a process makes
        # tensors for the random numbers of all: in inference mode, those of training could not change them.
        with (
            torch.inference_mode(False),
            torch.cuda.graph(graph, pool=self.pool, stream=aside, capture_error_mode="thread_local"),
            torch.inference_mode(inference),
            torch.set_grad_enabled(grad),
        ):
            self.outputs = self._call()
        self.graph = graph
        del self.function  # which may keep memory that the graph does not need


class RecordedByShape:
    """Functions that are recorded once for each shape of their inputs, and share memory.

    Use their outputs before the next call, of any shape.
    """

    def __init__(self, device: torch.device) -> None:
        """Record nothing yet."""
        self.device = device
        self.pool = torch.cuda.graph_pool_handle() if device.type == "cuda" else None
        self.recorded: dict[Hashable, Recorded] = {}

    def __call__(self, shape: Hashable, function: Function, inputs: Iterable[Tensor]) -> tuple[Tensor, ...]:
        """Return the outputs of the first `function` for this shape; the inputs are on the CPU."""
        if shape not in self.recorded:
            self.recorded[shape] = Recorded(function, device=self.device, pool=self.pool)
        return self.recorded[shape](*map(self._to_copy, inputs))

    def _to_copy(self, x: Tensor) -> Tensor:
        """Return the tensor where a copy to the GPU need not wait for it."""
        return x if self.pool is None else x.pin_memory()


@cache
def _stream_aside(device: torch.device) -> torch.cuda.Stream:
    """Return the same stream for all recordings: memory is only shared on one stream."""
    return torch.cuda.Stream(device)


def power_of_2(number: int, least: int = 1) -> int:
    """Return the smallest power of two that is neither below `number` nor below `least`, which is one.

    Sizes that are rounded up to it have few values, each of which is recorded.
    """
    return max(least, 1 << max(number - 1, 0).bit_length())
