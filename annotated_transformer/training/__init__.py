"""From tensors to weights: section 5 of the paper."""

from typing import TYPE_CHECKING

from annotated_transformer.lazy_names import lazy

if TYPE_CHECKING:  # imported on first use: a caller needs only part of it
    from annotated_transformer.checkpointing.run_directory import RunDirectory
    from annotated_transformer.text.batching import ClassBatch, encode_pairs
    from annotated_transformer.training.config import Recipe, TrainingConfig
    from annotated_transformer.training.loss import label_smoothed_cross_entropy, mean_loss
    from annotated_transformer.training.metrics import EpochMetrics
    from annotated_transformer.training.recipe import train_from_recipe
    from annotated_transformer.training.schedule import learning_rate
    from annotated_transformer.training.trainer import TrainingStopped, train, train_epochs, train_steps

EXPORTS = {  # by module
    "checkpointing.run_directory": "RunDirectory",
    "text.batching": "ClassBatch encode_pairs",
    "training.config": "Recipe TrainingConfig",
    "training.loss": "label_smoothed_cross_entropy mean_loss",
    "training.metrics": "EpochMetrics",
    "training.recipe": "train_from_recipe",
    "training.schedule": "learning_rate",
    "training.trainer": "TrainingStopped train train_epochs train_steps",
}

__all__ = [
    "ClassBatch",
    "EpochMetrics",
    "Recipe",
    "RunDirectory",
    "TrainingConfig",
    "TrainingStopped",
    "encode_pairs",
    "label_smoothed_cross_entropy",
    "learning_rate",
    "mean_loss",
    "train",
    "train_epochs",
    "train_from_recipe",
    "train_steps",
]

__getattr__, __dir__ = lazy(__name__, EXPORTS)
