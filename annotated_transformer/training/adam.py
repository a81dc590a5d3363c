"""Adam, computed in one pass over the weights: for training, and for the book's toys."""

from typing import Any

from torch import nn
from torch.autograd.graph import increment_version
from torch.optim import Adam


def fused_adam(model: nn.Module, **settings: Any) -> Adam:
    """Return PyTorch's fused Adam for a model's weights.

    Each step counts as a change of the weights, as that of other optimizers does: PyTorch leaves this out,
    and a cache compares itself with a model anew when its weights have changed.
    """
    adam = Adam(model.parameters(), fused=True, **settings)
    adam.register_step_post_hook(_count_change)
    return adam


def _count_change(adam: Adam, *step: object) -> None:
    increment_version([weight for group in adam.param_groups for weight in group["params"]])
