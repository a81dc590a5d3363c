"""How far each key is from each query, for attention that depends on the distance."""

import torch
from jaxtyping import Int
from torch import Tensor, nn


def first_query(query: Tensor, key: Tensor) -> int:
    """Return the position of the first query: the queries are the last of the keys' positions.

    In a whole sequence, queries and keys have the same positions. In a step of decoding, the keys of
    earlier tokens are in a cache, and the newest token asks.
    """
    queries, keys = query.size(-2), key.size(-2)
    if queries > keys:
        raise ValueError(
            f"{queries} queries but {keys} keys, so the queries are not the last of the keys' positions; "
            f"use attention that depends on the distance as self-attention only"
        )
    return keys - queries


def distances(query: Tensor, key: Tensor) -> Int[Tensor, "queries keys"]:
    """Return the position of each key minus that of each query: -1 is the token before."""
    first = first_query(query, key)
    place = torch.arange(key.size(-2), device=key.device)
    return place[None, :] - place[first:, None]


def refuse_other_size(module: nn.Module, name: str, size: int, actual: int) -> None:
    """Raise ValueError if what a module was made for has another size; a size of 1 would be broadcast."""
    if actual != size:
        kind = type(module).__name__
        raise ValueError(
            f"this {kind} was made for {name}={size}, and receives {actual}; make one for {actual}"
        )
