"""The metrics of a training run after each epoch: the chapter on training."""

import dataclasses
import math
from dataclasses import dataclass, field

from annotated_transformer.inspection.health import Health
from annotated_transformer.text.batching import Batch
from annotated_transformer.training.loss import mean_loss
from annotated_transformer.training.state import TrainingState


@dataclass(frozen=True, kw_only=True)
class EpochMetrics:
    """Metrics after an epoch, or after the part of it that fits within the limits.

    Attributes:
        step: Updates of the weights so far.
        epoch: Epochs started, this one included.
        training_loss: Mean over the epoch, in nats, with label smoothing and dropout, while the weights
            change: not comparable with `validation_loss`.
        validation_loss: In nats, without smoothing and dropout, so its exponential is the perplexity.
        lr: The last learning rate.
        gradient_norm: Mean over the epoch's updates.
        encoder_cosine: See `Health`; on the validation set.
        cross_attention_entropy: See `Health`; on the validation set.
        tokens_per_second: Labels per second, since this session began.
    """

    step: int
    epoch: int
    training_loss: float
    validation_loss: float | None = None
    lr: float
    gradient_norm: float
    encoder_cosine: float | None = None
    cross_attention_entropy: float | None = None
    tokens_per_second: float = field(compare=False)  # differs from run to run

    def __str__(self) -> str:
        """Return a status line."""
        line = f"step {self.step}: training loss {self.training_loss:.3f}"
        if self.validation_loss is None:
            return line
        loss = self.validation_loss
        perplexity = math.exp(loss) if loss < 700 else math.inf  # exp overflows from 710 on
        number = f"{perplexity:.2f}" if perplexity < 1e6 else f"{perplexity:.2e}"
        return f"{line}, validation loss {loss:.3f} (perplexity {number})"


def epoch_metrics(
    state: TrainingState, validation: list[Batch] | None, tokens_per_second: float
) -> EpochMetrics:
    """Return the current metrics; hooks observe the model during its pass over `validation`."""
    progress = state.progress
    metrics = EpochMetrics(
        step=progress.step,
        epoch=progress.epoch + 1,
        training_loss=progress.loss_sum / progress.labels,
        lr=progress.lr,
        gradient_norm=progress.norm_sum / progress.batch,
        tokens_per_second=tokens_per_second,
    )
    if validation is None:
        return metrics
    with Health(state.model) as health:
        loss = mean_loss(state.model, validation)
    return dataclasses.replace(
        metrics,
        validation_loss=loss,
        encoder_cosine=health.encoder_cosine,
        cross_attention_entropy=health.cross_attention_entropy,
    )
