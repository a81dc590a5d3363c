"""The progress bar of a training run, and the limits that end the run: the chapter on training."""

import math
import time

from tqdm import tqdm

from annotated_transformer.checkpointing.training_state import Progress
from annotated_transformer.training.config import TrainingConfig

BAR = "{percentage:3.0f}%|{bar:10}| {elapsed}<{remaining}{postfix}"


class ProgressBar:
    """The completed fraction of a training run, measured by the limit that is nearer.

    Attributes:
        done: Whether a limit is reached.
    """

    def __init__(self, config: TrainingConfig, progress: Progress, *, disable: bool = False) -> None:
        """Start from the progress so far; `disable` shows no bar."""
        self.config, self.labels, self.seconds = config, 0, 0.0
        self.before, self.started = progress.seconds, time.monotonic()
        self.done = self._fraction(progress) >= 1
        self.disable = True if disable else None  # None: shown in a terminal only

    def __enter__(self) -> "ProgressBar":
        """Show the bar, in a terminal only."""
        self.bar = tqdm(total=1.0, disable=self.disable, bar_format=BAR)
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the bar as it is."""
        self.bar.close()

    @property
    def tokens_per_second(self) -> float:
        """Return the speed of this session, in labels."""
        return self.labels / max(self.seconds, 1e-9)

    def advance(self, progress: Progress, labels: int, status: str) -> None:
        """Count one update of the weights, and set the time in `progress`."""
        self.labels += labels
        self.seconds = time.monotonic() - self.started
        progress.seconds = self.before + self.seconds
        fraction = self._fraction(progress)
        self.done = fraction >= 1
        speed = f"{self.tokens_per_second:.0f} tokens/s"
        self.bar.set_postfix_str(f"step {progress.step}, {status}, {speed}")
        self.bar.update(min(fraction, 1.0) - self.bar.n)

    def _fraction(self, progress: Progress) -> float:
        steps, minutes = self.config.steps or math.inf, self.config.minutes or math.inf
        return max(progress.step / steps, progress.seconds / (60 * minutes))
