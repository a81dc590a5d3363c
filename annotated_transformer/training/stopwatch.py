"""The time that a training run takes, over all of its sessions, and the speed of this session."""

import time


class Stopwatch:
    """Measure the time and the speed of a training run since this process started or resumed it."""

    def __init__(self, earlier: float) -> None:
        """Start after `earlier` seconds, those of the sessions before."""
        self.earlier, self.started = earlier, time.monotonic()
        self.labels, self.seconds = 0, 0.0

    def lap(self, labels: int) -> float:
        """Count the labels of one update, and return the seconds of the run over all of its sessions."""
        self.labels += labels
        self.seconds = time.monotonic() - self.started
        return self.earlier + self.seconds

    @property
    def tokens_per_second(self) -> float:
        """Return the speed of this session, in labels."""
        return self.labels / max(self.seconds, 1e-9)
