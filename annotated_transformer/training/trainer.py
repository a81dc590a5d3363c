"""The training loop: section 5 of the paper, the chapter on training."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim import Adam
from tqdm import tqdm

from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch, Pair, make_batches
from annotated_transformer.text.tokenizer import PAD_ID
from annotated_transformer.training.loss import label_smoothed_cross_entropy
from annotated_transformer.training.schedule import learning_rate

BAR = "{percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How long and how fast to learn; the defaults are the paper's (base model), which has no time limit."""

    steps: int | None = 100_000  # the first limit reached ends the training; None is no limit
    minutes: float | None = None
    batch_tokens: int = 25_000  # of each side, padding included
    warmup_steps: int = 4000
    peak: float | None = None  # the highest learning rate; None is the paper's
    label_smoothing: float = 0.1
    bf16: bool = False  # products in bfloat16: faster where the processor knows it

    def __post_init__(self) -> None:
        """Refuse what would train for ever, or not at all."""
        if self.steps is None and self.minutes is None:
            raise ValueError("steps=None and minutes=None would train for ever; give one of them")
        for name in ("steps", "minutes", "batch_tokens", "warmup_steps", "peak"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{name}={value} must be a positive number")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(
                f"label_smoothing={self.label_smoothing} is not a share; give 0 or more, below 1"
            )


@dataclass(frozen=True)
class Report:
    """What is known after an epoch, or after the part of one that the limits left."""

    step: int
    training_loss: float  # smoothed, with dropout, the weights moving: not to be compared with the next
    validation_loss: float | None  # not smoothed: its exponential is the perplexity


def train(
    model: Transformer,
    pairs: list[Pair],
    config: TrainingConfig,
    *,
    generator: torch.Generator,
    validation: list[Batch] | None = None,
    report: Callable[[Report], object] = lambda report: None,
) -> list[Report]:
    """Train `model` on `pairs` in place, and return a report per epoch; `report` gets each at once.

    `generator` draws the order of the pairs; dropout draws from torch's own. Adam is the paper's,
    and so is the schedule. A loss that is no number stops the training before it reaches the weights.
    """
    _refuse_unfit(model, pairs)
    optimizer = Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
    model.train()
    reports: list[Report] = []
    with _Progress(config) as progress:
        while not progress.done:
            batches = make_batches(pairs, batch_tokens=config.batch_tokens, generator=generator)
            training_loss = _train_epoch(model, optimizer, batches, config, progress)
            validation_loss = None if validation is None else mean_loss(model, validation)
            reports.append(Report(progress.step, training_loss, validation_loss))
            report(reports[-1])
    return reports


@torch.no_grad()
def mean_loss(model: Transformer, batches: list[Batch]) -> float:
    """Return the cross-entropy per label over `batches`, in nats, without smoothing and without dropout."""
    was_training = model.training
    model.eval()
    try:
        counts = [batch.num_labels for batch in batches]
        losses = [batch_loss(model, batch, smoothing=0.0).item() for batch in batches]
    finally:
        model.train(was_training)
    return sum(loss * count for loss, count in zip(losses, counts, strict=True)) / sum(counts)


def batch_loss(
    model: Transformer, batch: Batch, *, smoothing: float, bf16: bool = False
) -> Float[Tensor, ""]:
    """Return the loss of one batch, on the model's device; with `bf16`, products are rounded to bfloat16."""
    device = next(model.parameters()).device
    batch = batch.to(device)
    with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        logits = model(batch.src, batch.decoder_input)
    return label_smoothed_cross_entropy(logits, batch.labels, smoothing=smoothing, pad_id=model.config.pad_id)


class _Progress:
    """How much of the training is done, by the limit that is nearer, and the bar that shows it."""

    def __init__(self, config: TrainingConfig) -> None:
        self.config, self.step, self.done, self.labels = config, 0, False, 0
        self.started = time.monotonic()

    def __enter__(self) -> "_Progress":
        self.bar = tqdm(total=1.0, disable=None, bar_format=BAR)  # None: only where a person looks on
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.close()

    def advance(self, labels: int, loss: float, rate: float) -> None:
        self.step, self.labels = self.step + 1, self.labels + labels
        seconds = time.monotonic() - self.started
        steps, minutes = self.config.steps or math.inf, self.config.minutes or math.inf
        share = max(self.step / steps, seconds / (60 * minutes))
        self.done = share >= 1
        speed = self.labels / max(seconds, 1e-9)
        self.bar.set_postfix_str(f"step {self.step}, loss {loss:.3f}, rate {rate:.1e}, {speed:.0f} tokens/s")
        self.bar.update(min(share, 1.0) - self.bar.n)


def _train_epoch(
    model: Transformer, optimizer: Adam, batches: list[Batch], config: TrainingConfig, progress: _Progress
) -> float:
    """Update the weights once per batch, and return the mean loss over the labels seen."""
    loss_sum, labels = 0.0, 0
    for batch in batches:
        rate = learning_rate(
            progress.step + 1,
            d_model=model.config.d_model,
            warmup_steps=config.warmup_steps,
            peak=config.peak,
        )
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = batch_loss(model, batch, smoothing=config.label_smoothing, bf16=config.bf16)
        if not math.isfinite(loss.item()):
            raise FloatingPointError(
                f"the loss is {loss.item()} at step {progress.step + 1}, learning rate {rate:.2e}: "
                f"it has diverged; give a smaller peak, or more than warmup_steps={config.warmup_steps}"
            )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_sum, labels = loss_sum + loss.item() * batch.num_labels, labels + batch.num_labels
        progress.advance(batch.num_labels, loss.item(), rate)
        if progress.done:
            break
    return loss_sum / labels


def _refuse_unfit(model: Transformer, pairs: list[Pair]) -> None:
    """Find out before the first update, not hours into the first epoch."""
    pad_id, positions = model.config.pad_id, model.config.max_length
    if pad_id != PAD_ID:
        raise ValueError(
            f"the model has pad_id={pad_id}, but batches are padded with {PAD_ID}; build it with that"
        )
    for row, (src, tgt) in enumerate(pairs):
        if max(len(src), len(tgt) - 1) > positions:
            raise ValueError(
                f"pair {row} has {len(src)} source and {len(tgt)} target tokens, and the model {positions} "
                f"positions; drop the pair, or build the model with a larger max_length"
            )
