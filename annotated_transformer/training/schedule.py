"""The learning rate: section 5.3 of the paper, the chapter on training."""


def learning_rate(
    step: int, *, d_model: int = 512, warmup_steps: int = 4000, peak: float | None = None
) -> float:
    r"""Return $d_\text{model}^{-0.5} \min(step^{-0.5}, step \cdot warmup^{-1.5})$ (eq. 3).

    It rises in a line until `step` is `warmup_steps`, then falls as the root of the step. Its
    highest value is $(d_\text{model} \cdot warmup)^{-0.5}$; a departure from the paper, `peak` puts
    another in its place. Steps are updates of the weights and count from 1.
    """
    if step < 1:
        raise ValueError(f"step={step}, but steps count from 1: before the first update there is no rate")
    if warmup_steps < 1:
        raise ValueError(f"warmup_steps={warmup_steps}, but the rate needs at least one step to rise")
    rate = d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)
    return rate if peak is None else rate * peak * (d_model * warmup_steps) ** 0.5
