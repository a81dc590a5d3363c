"""How far an output is from its inputs: the gradient, and the longest chain of operations."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor


def gradient_by_distance(
    output: Float[Tensor, "batch width"],
    inputs: Float[Tensor, "batch tokens d_model"],
    *,
    rng: torch.Generator,
) -> Float[Tensor, " tokens"]:
    """Return the size of the gradient with respect to each token, the last token first.

    The gradient is that of a random direction of `output`. Its size is the root of the
    squared norm's mean over the batch.
    """
    direction = torch.randn(output.shape, generator=rng, dtype=output.dtype)
    (gradient,) = torch.autograd.grad((output * direction).sum(), inputs)
    return gradient.square().sum(dim=-1).mean(dim=0).sqrt().flip(0)


def graph_depth(output: Tensor) -> int:
    """Count the operations on the longest path to `output` in autograd's graph.

    Operations on one path have to run one after another, whatever the hardware.
    A fused kernel counts as one operation, even if it has steps inside.
    """
    depth: dict[object, int] = {}
    stack: list[Any] = [output.grad_fn]
    while stack:
        before = [node for node, _ in stack[-1].next_functions if node is not None]
        missing = [node for node in before if node not in depth]
        if missing:
            stack.extend(missing)
        else:
            node = stack.pop()
            depth[node] = 1 + max((depth[other] for other in before), default=0)
    return depth[output.grad_fn]
