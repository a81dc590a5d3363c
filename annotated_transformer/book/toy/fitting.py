"""The training loop of the book's toy models."""

from collections.abc import Callable

from torch import Tensor, nn

from annotated_transformer.training.adam import fused_adam


def rise_stay_fall(step: int, updates: int) -> float:
    """Return the part of the highest learning rate that a step of `fit` takes.

    The rate rises for 30 updates, is the highest until half of the updates, and then falls to 0.
    """
    return min(1.0, (step + 1) / 30, 2 * (1 - step / updates))


def fit(
    model: nn.Module,
    draw_loss: Callable[[], Tensor],
    *,
    steps: int,
    lr: float | Callable[[int], float],
    betas: tuple[float, float] = (0.9, 0.999),
    after_step: Callable[[int], object] | None = None,
) -> list[float]:
    """Train a model with Adam, and return the loss of each step.

    `draw_loss` returns the loss of a new batch. `lr` is the learning rate, or a
    function that returns the rate of each step, counted from 0. `after_step` is called
    after each update, with the number of updates so far.
    """
    optimizer = fused_adam(model, betas=betas)
    losses = []
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = lr(step) if callable(lr) else lr
        optimizer.zero_grad()
        loss = draw_loss()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if after_step is not None:
            after_step(step + 1)
    return losses
