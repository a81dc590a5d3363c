"""A model as it is used, not trained: without dropout (section 5.4) and gradients."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Switch dropout and gradients off, and afterwards back to what they were."""
    trained = [module for module in model.modules() if module.training]
    for module in trained:
        module.training = False
    try:
        with torch.no_grad():
            yield
    finally:
        for module in trained:
            module.training = True
