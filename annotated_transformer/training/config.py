"""How long and how fast to learn: section 5 of the paper, the chapter on training."""

import dataclasses
import math
from dataclasses import dataclass

LIMITS = ("steps", "minutes")


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How long and how fast to learn; the defaults are the paper's, without time limit.

    Attributes:
        steps: Updates of the weights. The first limit reached ends the training; `None`
            is no limit.
        minutes: Wall time, over all runs of a training that was interrupted.
        batch_tokens: Of each side of a batch, padding included.
        warmup_steps: Updates during which the learning rate rises.
        peak: The highest learning rate; `None` is the paper's.
        label_smoothing: Share of the probability that every class gets a part of.
        bf16: Products in bfloat16: faster where the processor knows it.
        fast: Stand-ins for slow modules, and the loss in chunks: see `training.fast`.
    """

    steps: int | None = 100_000
    minutes: float | None = None
    batch_tokens: int = 25_000
    warmup_steps: int = 4000
    peak: float | None = None
    label_smoothing: float = 0.1
    bf16: bool = False
    fast: bool = False

    def __post_init__(self) -> None:
        """Refuse what would train for ever, or not at all."""
        if self.steps is None and self.minutes is None:
            raise ValueError("steps=None and minutes=None would train for ever; give one of them")
        for name in (*LIMITS, "batch_tokens", "warmup_steps", "peak"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{name}={value} must be a positive number")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(
                f"label_smoothing={self.label_smoothing} is not a share; give 0 or more, below 1"
            )

    def way(self) -> dict[str, object]:
        """Return what decides the weights at each step: everything but the limits."""
        settings = dataclasses.asdict(self)
        return {name: settings[name] for name in settings if name not in LIMITS}
