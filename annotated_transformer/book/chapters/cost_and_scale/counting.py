"""Counting what a computation takes: operations, layers between two positions, and bytes kept for backward."""

from collections.abc import Callable, Iterable, Sequence

import torch
from jaxtyping import Bool
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

Layer = Callable[[Tensor], Tensor]  # from (tokens, d_model) to (tokens, d_model)


def count_flops(run: Callable[[], object]) -> int:
    """Return the FLOPs of the matrix products (and convolutions) that `run` computes, as PyTorch counts them.

    A multiplication and an addition are two. Other operations, such as a softmax, are not counted.
    """
    counter = FlopCounterMode(display=False)
    with counter:
        run()
    return int(counter.get_total_flops())


def reads(layer: Layer, tokens: int, d_model: int) -> Bool[Tensor, "tokens tokens"]:
    """Return which inputs each output of a layer depends on, where its Jacobian is not zero."""
    x = torch.randn(tokens, d_model, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def summed(x: Tensor) -> Tensor:
        return layer(x).sum(dim=-1)  # one number for each output position is enough

    jacobian = torch.autograd.functional.jacobian(summed, x)
    found: Tensor = (jacobian != 0).any(dim=-1)
    return found


def path_length(patterns: Sequence[Bool[Tensor, "tokens tokens"]], *, start: int, end: int) -> int:
    """Return how many layers it takes until position `end` depends on input `start`, by a search in breadth.

    Layer by layer, each of which reads by its own pattern; after the last pattern, they begin again.

    Raises:
        ValueError: No number of layers connects the two.
    """
    reached, layers = {start}, 0
    while end not in reached:
        pattern = patterns[layers % len(patterns)]
        grown = reached | {row for row, read in enumerate(pattern.tolist()) if any(read[i] for i in reached)}
        layers += 1
        if grown == reached and layers >= len(patterns):
            raise ValueError(f"position {end} never reads position {start}; give patterns that connect them")
        reached = grown
    return layers


def kept_bytes(run: Callable[[], object], parameters: Iterable[nn.Parameter] = ()) -> int:
    """Return the bytes of the tensors that `run` keeps for the backward pass, each storage once.

    Parameters, which are in memory anyway, do not count.
    """
    own = {parameter.untyped_storage().data_ptr() for parameter in parameters}
    kept: dict[int, int] = {}
    alive = []  # a freed storage's address could be given to another

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
            alive.append(tensor)
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        run()
    return sum(kept.values())
