"""When a training run ends: a function of its settings and its progress. The chapter on training."""

import math

from annotated_transformer.checkpointing.training_state_file import Progress
from annotated_transformer.training.config import TrainingConfig


def completed(config: TrainingConfig, progress: Progress) -> float:
    """Return the completed fraction of a training run, measured by its number of updates or its time.

    The limit that is nearer counts. The fraction may be above 1.
    """
    steps, minutes = config.steps or math.inf, config.minutes or math.inf
    return max(progress.step / steps, progress.seconds / (60 * minutes))


def is_over(config: TrainingConfig, progress: Progress) -> bool:
    """Return whether the training run has reached one of its limits."""
    return completed(config, progress) >= 1 or is_out_of_patience(config, progress)


def is_out_of_patience(config: TrainingConfig, progress: Progress) -> bool:
    """Return whether no model was better than the best in the last `config.patience` epochs."""
    if config.patience is None or progress.best_loss is None:
        return False
    return progress.epoch - progress.best_epoch >= config.patience
