"""The metrics of a training run after each epoch: the chapter on training."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, SupportsFloat, get_args

from annotated_transformer.checkpointing.training_state_file import Mode
from annotated_transformer.inspection.health import COLLAPSED, Health
from annotated_transformer.model.inference import evaluating
from annotated_transformer.model.trainable import AnyModel, is_transformer
from annotated_transformer.text.batching import Batch
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.limits import is_over
from annotated_transformer.training.loss import mean_loss
from annotated_transformer.training.stopwatch import Stopwatch
from annotated_transformer.training.training_state import TrainingState

Criterion = Callable[[Any], float]
"""Returns a number for a model: the lower the better, or with `mode="max"` the higher."""


@dataclass(frozen=True, kw_only=True)
class EpochMetrics:
    """Metrics after an epoch, or after the part of it that fits within the limits.

    Attributes:
        step: Updates of the weights so far.
        epoch: Epochs started, this one included.
        training_loss: Mean over the epoch, in nats, with label smoothing and dropout, while the weights
            change: not comparable with `validation_loss`.
        validation_loss: In nats, without smoothing and dropout, so its exponential is the perplexity.
        criterion: What the given criterion returned, if there was one.
        best_epoch: The epoch with the best criterion, or the lowest validation loss without one, so far.
        label_smoothing: The smoothing of `training_loss`; some results of the book's benchmarks lack it.
        lr: The last learning rate.
        gradient_norm: Mean over the epoch's updates, before the gradient is clipped.
        encoder_cosine: See `Health`; on the validation set, or on one training batch if there is none. `None`
            for a model other than `Transformer`, as the two that follow.
        encoder_collapsed: Whether the encoder cosine is above `COLLAPSED`; `None` during the warm-up, when it
            often is for a while, unless the training run ends there.
        cross_attention_entropy: See `Health`; on the same pairs.
        tokens_per_second: Labels per second, since this session began.
    """

    step: int
    epoch: int
    training_loss: float
    validation_loss: float | None = None
    criterion: float | None = None
    best_epoch: int | None = None
    label_smoothing: float | None = None
    lr: float
    gradient_norm: float
    encoder_cosine: float | None = None
    encoder_collapsed: bool | None = None
    cross_attention_entropy: float | None = None
    tokens_per_second: float = field(compare=False)  # differs from run to run

    def __str__(self) -> str:
        """Return a status line, which marks the loss with label smoothing and the one without."""
        smoothed = f" (smoothed by {self.label_smoothing:g})" if self.label_smoothing else ""
        line = f"step {self.step}: training loss {self.training_loss:.3f}{smoothed}"
        if self.validation_loss is None:
            return line
        loss = self.validation_loss
        perplexity = math.exp(loss) if loss < 700 else math.inf  # exp overflows from 710 on
        number = f"{perplexity:.2f}" if perplexity < 1e6 else f"{perplexity:.2e}"
        unsmoothed = "unsmoothed, " if smoothed else ""
        return f"{line}, validation loss {loss:.3f} ({unsmoothed}perplexity {number})"


def epoch_metrics(
    state: TrainingState,
    config: TrainingConfig,
    validation: list[Batch] | None,
    training: list[Batch],
    stopwatch: Stopwatch,
    criterion: Criterion | None = None,
    mode: Mode = "min",
) -> EpochMetrics:
    """Return the current metrics; hooks observe the model on `validation`, or on the first training batch."""
    progress = state.progress
    settled = is_over(config, progress) or progress.step >= config.warmup_steps
    observed = Health(state.model) if is_transformer(state.model) else None
    with observed or nullcontext():
        loss = mean_loss(state.model, training[:1] if validation is None else validation)
    loss = state.group.broadcast(loss)  # all ranks compare the same number with the best one
    number = None if criterion is None else state.group.broadcast(_judge(state.model, criterion))
    best = progress.is_best(loss if number is None else number, mode)
    best_epoch = progress.epoch + 1 if best else progress.best_epoch
    return EpochMetrics(
        step=progress.step,
        epoch=progress.epoch + 1,
        training_loss=progress.loss_sum / progress.labels,
        validation_loss=None if validation is None else loss,
        criterion=number,
        best_epoch=None if validation is None and number is None else best_epoch,
        label_smoothing=config.label_smoothing,
        lr=progress.lr,
        gradient_norm=progress.norm_sum / math.ceil(progress.batch / config.accumulate),
        encoder_cosine=observed.encoder_cosine if observed else None,
        encoder_collapsed=observed.encoder_cosine > COLLAPSED if observed and settled else None,
        cross_attention_entropy=observed.cross_attention_entropy if observed else None,
        tokens_per_second=stopwatch.tokens_per_second,
    )


def _judge(model: AnyModel, criterion: Criterion) -> float:
    with evaluating(model):
        returned = criterion(model)
    number = float(returned) if isinstance(returned, SupportsFloat) else math.nan
    if not math.isfinite(number):
        raise ValueError(f"the criterion returned {returned!r} for the model; return a finite number")
    return number


def refuse_mode(mode: str, criterion: object) -> None:
    """Refuse a mode that does not exist, or that would keep the model with the highest validation loss."""
    if mode not in get_args(Mode):
        raise ValueError(f'mode={mode!r} is neither "min" nor "max"; give one of them')
    if mode == "max" and criterion is None:
        raise ValueError(
            'mode="max" would prefer the highest validation loss; give a criterion, or leave it out'
        )


def collapse_warning(metrics: EpochMetrics, warmup_steps: int, *, norm: str) -> str:
    """Return what a collapsed encoder means, and what to do about it."""
    if metrics.step < warmup_steps:
        way_out = f"train for more than warmup_steps={warmup_steps}"
    else:
        way_out = f"train again with more than warmup_steps={warmup_steps}, or with a lower max_lr"
        way_out += ", or with norm='pre'" if norm == "post" else ""
    return (
        f"warning: at step {metrics.step}, the encoder has collapsed: it returns nearly the same vector for "
        f"each token of a sentence (mean cosine {metrics.encoder_cosine:.3f}), so translations hardly depend "
        f"on the source, even if loss and BLEU look plausible; {way_out}"
    )
