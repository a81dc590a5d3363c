"""The bar that shows a training, and the limits that end it: the chapter on training."""

import math
import time

from tqdm import tqdm

from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.distributed import Team
from annotated_transformer.training.state import Counters

BAR = "{percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"


class Progress:
    """How much is done of a training, by the limit that is nearer; a bar shows it."""

    def __init__(self, config: TrainingConfig, at: Counters) -> None:
        """Go on from where the training is."""
        self.config, self.labels, self.seconds = config, 0, 0.0
        self.before, self.started = at.seconds, time.monotonic()
        self.done = self._share(at) >= 1

    def __enter__(self) -> "Progress":
        """Show the bar where a person looks on, and nowhere else."""
        hidden = True if Team().rank else None
        self.bar = tqdm(total=1.0, disable=hidden, bar_format=BAR)
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the bar as it is."""
        self.bar.close()

    @property
    def tokens_per_second(self) -> float:
        """Return the speed of this run, in labels."""
        return self.labels / max(self.seconds, 1e-9)

    def advance(self, at: Counters, labels: int, note: str) -> None:
        """Count one update of the weights; `at` gets the time."""
        self.labels += labels
        self.seconds = time.monotonic() - self.started
        at.seconds = self.before + self.seconds
        share = self._share(at)
        self.done = share >= 1
        speed = f"{self.tokens_per_second:.0f} tokens/s"
        self.bar.set_postfix_str(f"step {at.step}, {note}, {speed}")
        self.bar.update(min(share, 1.0) - self.bar.n)

    def _share(self, at: Counters) -> float:
        steps, minutes = self.config.steps or math.inf, self.config.minutes or math.inf
        return max(at.step / steps, at.seconds / (60 * minutes))
