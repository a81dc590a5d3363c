"""Counting operations, layers between two positions, and the bytes that are kept for the backward pass."""

from collections.abc import Callable, Iterable, Sequence

import torch
from jaxtyping import Bool
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

Run = Callable[[], object]
Layer = Callable[[Tensor], Tensor]  # from (tokens, d_model) to (tokens, d_model)


def count_flops(run: Run) -> int:
    """Return the FLOPs of the matrix products (and convolutions) that `run` computes, as PyTorch counts them.

    A multiplication and an addition are two. Other operations, such as a softmax, are not counted.
    """
    counter = FlopCounterMode(display=False)
    with counter:
        run()
    return int(counter.get_total_flops())


def reads_from(layer: Layer, tokens: int, d_model: int) -> Bool[Tensor, "tokens tokens"]:
    """Return which inputs each output of a layer depends on, where its Jacobian is not zero."""
    x = torch.randn(tokens, d_model, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def summed(x: Tensor) -> Tensor:
        return layer(x).sum(dim=-1)  # one number for each output position is enough

    jacobian = torch.autograd.functional.jacobian(summed, x)
    found: Tensor = (jacobian != 0).any(dim=-1)
    return found


def shortest_path(patterns: Sequence[Bool[Tensor, "tokens tokens"]], *, start: int, end: int) -> list[int]:
    """Return the positions on a shortest path from input `start` to output `end`, by a search in breadth.

    Each layer reads by its own pattern, in turn, and is one step of the path.

    Raises:
        ValueError: No number of layers connects the two.
    """
    paths, layers = {start: [start]}, 0
    while end not in paths or layers == 0:
        pattern = patterns[layers % len(patterns)].tolist()
        grown: dict[int, list[int]] = {}
        for row, read in enumerate(pattern):
            before = min(
                (place for place in paths if read[place]), key=lambda place: abs(row - place), default=None
            )
            if before is not None:
                grown[row] = [*paths[before], row]
        layers += 1
        if layers > len(pattern) * len(patterns):
            raise ValueError(f"position {end} never reads position {start}; give patterns that connect them")
        paths = grown
    return paths[end]


def kept_bytes(run: Run, parameters: Iterable[nn.Parameter] = ()) -> int:
    """Return the bytes of what `run` keeps for the backward pass, each storage once.

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
