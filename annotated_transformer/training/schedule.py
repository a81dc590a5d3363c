"""The settings of Adam and the learning rate schedule: section 5.3 of the paper, the chapter on training."""

from annotated_transformer.kinds import refuses_other_kinds

BETAS, EPS = (0.9, 0.98), 1e-9  # Adam's, in the paper


@refuses_other_kinds
def learning_rate(
    step: int,
    *,
    d_model: int = 512,
    warmup_steps: int = 4000,
    max_lr: float | None = None,
) -> float:
    r"""Return $d_\text{model}^{-0.5} \min(step^{-0.5}, step \cdot w^{-1.5})$ (eq. 3).

    The rate rises linearly until `step` is `warmup_steps`, $w$, then falls with the
    inverse square root of the step. Its highest value is $(d_\text{model} w)^{-0.5}$;
    `max_lr`, a departure from the paper, replaces that value. Steps are updates of the
    weights and count from 1.

    Raises:
        ValueError: If `step` or `warmup_steps` is less than 1.
    """
    if step < 1:
        raise ValueError(
            f"step={step}, but steps count from 1; the first update is step 1"
        )  # fmt: skip
    if warmup_steps < 1:
        raise ValueError(
            f"warmup_steps={warmup_steps}, but the rate needs at least one step to rise"
        )  # fmt: skip
    lr = d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
    return lr if max_lr is None else lr * max_lr * (d_model * warmup_steps) ** 0.5


def warm_up_warning(steps: int, warmup_steps: int) -> str:
    """Return what it means that a training run ends after so many steps, within the warm-up."""
    return (
        f"warning: the run ends within the warm-up (steps={steps} of warmup_steps={warmup_steps}): the "
        f"learning rate only rises, to {steps / warmup_steps:.0%} of its highest value, so the model learns "
        f"little; give more steps, or fewer warmup_steps"
    )
