"""How the toy models of the chapter on looking inside are trained."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from annotated_transformer.fast.modules import fast_modules


def fit_toy(model: nn.Module, draw_loss: Callable[[], Tensor], *, updates: int, max_lr: float) -> None:
    """Train a model with Adam, then freeze it; `draw_loss` returns the loss of a new batch.

    The learning rate rises for 30 updates, is `max_lr` until half of the updates, and then falls to 0.
    """
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), fused=True)
    with fast_modules(model):
        for update in range(updates):
            optimizer.param_groups[0]["lr"] = max_lr * min(1, (update + 1) / 30, 2 * (1 - update / updates))
            loss = draw_loss()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval().requires_grad_(False)
