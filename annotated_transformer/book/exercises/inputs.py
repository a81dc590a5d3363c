"""Random inputs of the checks, the same each time."""

import torch
from torch import Tensor


def draw_normal(seed: int, *shape: int) -> Tensor:
    """Return a tensor of normally distributed numbers."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
