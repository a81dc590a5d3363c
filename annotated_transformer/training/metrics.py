"""What is known of a training after each epoch: the chapter on training."""

import dataclasses
import math
from dataclasses import dataclass, field

from annotated_transformer.inspection.health import Health
from annotated_transformer.text.batching import Batch
from annotated_transformer.training.state import TrainingState
from annotated_transformer.training.validation import mean_loss


@dataclass(frozen=True, kw_only=True)
class Report:
    """What is known after an epoch, or after the part of one that the limits left.

    Attributes:
        step: Updates of the weights so far.
        epoch: Epochs begun, this one included.
        training_loss: Smoothed, with dropout, while the weights move: not to be compared
            with the next.
        validation_loss: Not smoothed, so its exponential is the perplexity.
        rate: The last learning rate.
        gradient_norm: Mean over the epoch's updates.
        encoder_cosine: See `Health`; on the validation set, as the next.
        cross_attention_entropy: See `Health`.
        tokens_per_second: Labels, since this run began.
    """

    step: int
    epoch: int
    training_loss: float
    validation_loss: float | None = None
    rate: float
    gradient_norm: float
    encoder_cosine: float | None = None
    cross_attention_entropy: float | None = None
    tokens_per_second: float = field(compare=False)  # no two runs agree on it

    def __str__(self) -> str:
        """Return what to say of it in a line."""
        line = f"step {self.step}: training loss {self.training_loss:.3f}"
        if self.validation_loss is None:
            return line
        loss = self.validation_loss
        perplexity = math.exp(loss) if loss < 700 else math.inf  # which overflows from 710 on
        return f"{line}, validation loss {self.validation_loss:.3f} (perplexity {perplexity:.2f})"


def epoch_metrics(state: TrainingState, validation: list[Batch] | None, tokens_per_second: float) -> Report:
    """Return what is known now, the model watched while it runs on `validation`."""
    at = state.at
    found = Report(
        step=at.step,
        epoch=at.epoch + 1,
        training_loss=at.loss_sum / at.labels,
        rate=at.rate,
        gradient_norm=at.norm_sum / at.batch,
        tokens_per_second=tokens_per_second,
    )
    if validation is None:
        return found
    with Health(state.model) as health:
        loss = mean_loss(state.model, validation)
    return dataclasses.replace(
        found,
        validation_loss=loss,
        encoder_cosine=health.encoder_cosine,
        cross_attention_entropy=health.cross_attention_entropy,
    )
