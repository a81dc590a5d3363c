"""The training loop: section 5 of the paper, the chapter on training."""

import dataclasses
import math
from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch.nn.utils import get_total_norm
from torch.optim import Adam

from annotated_transformer.checkpointing.fingerprint import fingerprint
from annotated_transformer.checkpointing.run_directory import RunDirectory
from annotated_transformer.fast.modules import fast_modules
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import Batch, Pair, make_batches
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.metrics import Report, epoch_metrics
from annotated_transformer.training.objective import batch_loss
from annotated_transformer.training.progress_bar import Progress
from annotated_transformer.training.schedule import learning_rate
from annotated_transformer.training.state import Counters, TrainingState
from annotated_transformer.training.stopping import TrainingStopped
from annotated_transformer.training.validation import check_fit

Pairs = list[Pair] | Callable[[int], list[Pair]]


def train(
    model: Transformer,
    pairs: Pairs,
    config: TrainingConfig,
    *,
    generator: torch.Generator,
    validation: list[Pair] | None = None,
    report: Callable[[Report], object] = lambda report: None,
    keeper: RunDirectory | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> list[Report]:
    """Train `model` on `pairs` in place, and return a report per epoch.

    `pairs` may be a function of the epoch, counted from 0, such as `BPEDropout`. Nothing
    is learned from those of `validation`. `report` gets each report at once. `generator`
    draws the order of the pairs; dropout draws from torch's own. Adam is the paper's, and so
    is the schedule. What a `keeper` has kept of this training is not done again. `stop` is
    called before each update; once it returns True, the state is saved and training stops.

    Raises:
        TrainingStopped: If `stop` returned True, in this or in another process of the run.
        FloatingPointError: If the loss or its gradient is no number; no weight has it then.
        ValueError: If the pairs do not fit the model, or the keeper has another training.
    """
    first = pairs(0) if callable(pairs) else pairs
    check_fit(model, first)
    held_out = _held_out(model, validation, config)
    adam = Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
    state = TrainingState(model, adam, generator, fast=config.fast)
    reports = list[Report]()
    if keeper is not None:
        keeper.resume(state, _identity(state, first, config))
    model.train()
    modules = fast_modules(model) if config.fast else nullcontext()
    with modules, Progress(config, state.at) as progress:
        while not progress.done:
            found = first
            if callable(pairs) and state.at.epoch > 0:
                found = pairs(state.at.epoch)
                check_fit(model, found)
            pad_id, most = model.config.pad_id, config.batch_tokens
            batches = make_batches(found, batch_tokens=most, generator=generator, pad_id=pad_id)
            _train_epoch(state, batches, config, progress, keeper, stop)
            speed = progress.tokens_per_second
            reports.append(epoch_metrics(state, held_out, speed))
            report(reports[-1])
            if state.at.batch == len(batches):
                state.end_epoch()
            if keeper is not None:
                keeper.report(dataclasses.asdict(reports[-1]))
                keeper.save(state)
    return reports


def _held_out(model: Transformer, pairs: list[Pair] | None, config: TrainingConfig) -> list[Batch] | None:
    if pairs is None:
        return None
    check_fit(model, pairs, kind="validation pair")
    return make_batches(pairs, batch_tokens=config.batch_tokens, pad_id=model.config.pad_id)


def _train_epoch(
    state: TrainingState,
    batches: list[Batch],
    config: TrainingConfig,
    progress: Progress,
    keeper: RunDirectory | None,
    stop: Callable[[], bool],
) -> None:
    """Update the weights once for each batch that is left, as far as the limits allow."""
    for batch in batches[state.at.batch :]:
        if state.team.any(stop()):
            if keeper is not None:
                keeper.save(state)
            raise TrainingStopped(state.at.step)
        try:
            note = update(state, batch, config)
        except FloatingPointError as error:
            kept = f"; step {keeper.step} is kept in {keeper.folder}" if keeper and keeper.step else ""
            raise FloatingPointError(f"{error}{kept}") from None
        progress.advance(state.at, batch.num_labels, note)
        progress.done = state.team.decide(progress.done)
        if progress.done:
            break
        if keeper is not None and state.team.decide(keeper.is_due()):
            keeper.save(state)


def update(state: TrainingState, batch: Batch, config: TrainingConfig) -> str:
    """Take one step of Adam down the loss of `batch`, and return a word on it.

    Raises:
        FloatingPointError: If loss or gradient is no number; the weights are as before.
    """
    at = state.at
    at.rate = learning_rate(
        at.step + 1,
        d_model=state.model.config.d_model,
        warmup_steps=config.warmup_steps,
        peak=config.peak,
    )
    for group in state.optimizer.param_groups:
        group["lr"] = at.rate
    state.optimizer.zero_grad()
    share, weight = state.team.share(batch)
    part = weight * batch_loss(state.model, share, config, net=state.net)
    (part * state.team.size).backward()  # the team takes the mean, where the parts add up
    loss = state.team.total(part.item())
    gradients = [p.grad for p in state.model.parameters() if p.grad is not None]
    norm = get_total_norm(gradients).item()
    _refuse_divergence(at, batch, config, loss, norm)
    state.optimizer.step()
    at.step, at.batch, at.labels = at.step + 1, at.batch + 1, at.labels + batch.num_labels
    at.loss_sum += loss * batch.num_labels
    at.norm_sum += norm
    return f"loss {loss:.3f}, rate {at.rate:.1e}"


def _refuse_divergence(at: Counters, batch: Batch, config: TrainingConfig, loss: float, norm: float) -> None:
    for name, value in (("loss", loss), ("norm of its gradient", norm)):
        if not math.isfinite(value):
            rows = ", ".join(map(str, batch.rows[:9])) + ", …" * (len(batch.rows) > 9)
            raise FloatingPointError(
                f"the {name} is {value} at step {at.step + 1}, rate {at.rate:.2e}, "
                f"in batch {at.batch + 1} of epoch {at.epoch + 1} (pairs {rows}): "
                f"it has diverged; give a smaller peak, or more than "
                f"warmup_steps={config.warmup_steps}"
            )


def _identity(state: TrainingState, pairs: list[Pair], config: TrainingConfig) -> dict[str, object]:
    """Return what two runs must share to be one training."""
    drawn = {"pairs": fingerprint(pairs), "seed": state.generator.initial_seed()}
    team = {"processes": state.team.size}
    return drawn | team | config.way() | dataclasses.asdict(state.model.config)
