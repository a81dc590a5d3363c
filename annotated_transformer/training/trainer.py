"""The training loop: section 5 of the paper, the chapter on training."""

import dataclasses
import math
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm
from torch.optim import Adam

from annotated_transformer.argument_names import Message, join
from annotated_transformer.checkpointing.files import fingerprint
from annotated_transformer.checkpointing.own_code import config_fields
from annotated_transformer.checkpointing.run_directory import RunDirectory
from annotated_transformer.fast.loss import PackedLoss, RecordedGradients
from annotated_transformer.model.plain import unwrap
from annotated_transformer.model.trainable import AnyModel, is_transformer, refuse_other_model
from annotated_transformer.text.batching import Batch, Pair, make_batches
from annotated_transformer.training.config import LIMITS, TrainingConfig
from annotated_transformer.training.distributed import ProcessGroup
from annotated_transformer.training.late_numbers import LATE, LateNumbers, Update
from annotated_transformer.training.limits import completed, is_over
from annotated_transformer.training.loss import batch_loss, check_padding, takes_fast_path, training_loss
from annotated_transformer.training.metrics import EpochMetrics, epoch_metrics
from annotated_transformer.training.pairs import check_fit
from annotated_transformer.training.progress_bar import ProgressBar
from annotated_transformer.training.schedule import learning_rate
from annotated_transformer.training.stopwatch import Stopwatch
from annotated_transformer.training.training_state import TrainingState

Pairs = list[Pair] | Callable[[int], list[Pair]]
NEEDS_VALIDATION = "compares validation losses, and there are no validation pairs; leave it out, or add some"


class TrainingStopped(Exception):
    """A training run stopped between two updates because it was asked to; its state is saved.

    The next run on the same folder ends with the weights of an uninterrupted one. The exception
    is raised in every process of the run.
    """

    def __init__(self, step: int) -> None:
        """Name the last update that was done."""
        super().__init__(f"the training run was asked to stop, and did after step {step}")
        self.step = step


def train(
    model: AnyModel,
    pairs: Pairs,
    config: TrainingConfig,
    *,
    generator: torch.Generator,
    validation: list[Pair] | None = None,
    report: Callable[[EpochMetrics], object] = lambda metrics: None,
    run_directory: RunDirectory | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> list[EpochMetrics]:
    """Train `model` in place with the paper's Adam and schedule, and return metrics for each epoch.

    Args:
        model: Trained in place, on the device that it is on: a `Transformer`, or a `TrainableModel`, which
            computes its own loss, without accelerated modules. `torch.compile` may have wrapped it, but
            `fast=True` calls the module inside, uncompiled, so `fast=None` is plain then; `compile_stacks`
            works with both.
        pairs: Pairs to train on, or a function that returns them for an epoch, counted from 0, such as
            `BPEDropout`.
        config: Settings of the training run.
        generator: Draws the order of the pairs. Dropout draws from torch's global generator.
        validation: Pairs to compute the validation loss on, after each epoch.
        report: Called with the metrics of each epoch.
        run_directory: Where to save the state of the training run, and to resume it from.
        stop: Called before each update. If it returns True, the state is saved and training stops.

    Raises:
        TypeError: If the model is neither, or its config lacks a setting.
        TrainingStopped: If `stop` returned True, in this or in another process of the group.
        FloatingPointError: If the loss or its gradient is NaN or infinite; the weights are unchanged.
        ValueError: If the pairs do not fit the model, if there are no validation pairs and `config` has
            `patience`, or if the run directory belongs to another run.
    """
    epochs = train_epochs(
        model,
        pairs,
        config,
        generator=generator,
        validation=validation,
        run_directory=run_directory,
        stop=stop,
    )
    all_metrics = []
    with closing(epochs):
        for metrics in epochs:
            all_metrics.append(metrics)
            report(metrics)
    return all_metrics


def train_epochs(
    model: AnyModel,
    pairs: Pairs,
    config: TrainingConfig,
    *,
    generator: torch.Generator,
    validation: list[Pair] | None = None,
    run_directory: RunDirectory | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Generator[EpochMetrics, None, None]:
    """Train as `train` does, and yield the metrics at the end of each epoch.

    The caller may then save the model. The state of the run is saved after that, when the caller asks for
    the next epoch. So a run that is killed in between trains the epoch again, and replaces its model.
    """
    refuse_other_model(model, "train")
    if config.patience is not None and validation is None:
        raise ValueError(Message("{patience} {}", NEEDS_VALIDATION, patience=config.patience))
    config = dataclasses.replace(config, fast=takes_fast_path(model, config))
    accumulate = int(config.accumulate)  # a whole number, but perhaps a float
    first = pairs(0) if callable(pairs) else pairs
    check_fit(model, first)
    held_out = _validation_batches(model, validation, config)
    adam = Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
    state = TrainingState(model, adam, generator)
    with training_loss(model, config) as loss:
        identity = _identity(state, first, config)
        limits = {name: getattr(config, name) for name in LIMITS}
        state.group.refuse_unequal(
            {**(run_directory.identity if run_directory else {}), **identity, **limits}
        )
        objective = objective_of(loss, config, state.group)
        if run_directory is not None:
            saved = run_directory.resume(state.to_saved(), identity)
            if saved is not None:
                state.restore(saved)
        model.train()
        stopwatch = Stopwatch(state.progress.seconds)
        with _naming_the_saved_step(run_directory), ProgressBar(disable=state.group.rank > 0) as bar:
            while not is_over(config, state.progress):
                epoch_pairs = _pairs_of(state.progress.epoch, pairs, first, model)
                batches = _batches(model, epoch_pairs, config, generator)
                for first_batch in range(state.progress.batch, len(batches), accumulate):
                    parts = batches[first_batch : first_batch + accumulate]
                    _stop_if_asked(state, config, run_directory, stop)
                    status = update(state, objective, parts, config)
                    # every rank ends the run by rank 0's clock
                    seconds = stopwatch.lap(sum(part.num_labels for part in parts))
                    state.progress.seconds = state.group.broadcast(seconds)
                    speed = f"{stopwatch.tokens_per_second:.0f} tokens/s"
                    bar.advance(completed(config, state.progress), f"{status}, {speed}")
                    if is_over(config, state.progress):
                        break
                    if run_directory is not None and state.group.broadcast(run_directory.is_due()):
                        _save(state, config, run_directory)
                read_losses(state, config)
                metrics = epoch_metrics(state, config, held_out, batches, stopwatch)
                yield metrics
                if state.progress.batch == len(batches):
                    state.end_epoch(metrics.validation_loss)
                if run_directory is not None:
                    run_directory.report(dataclasses.asdict(metrics))
                    _save(state, config, run_directory)


def _validation_batches(
    model: AnyModel, pairs: list[Pair] | None, config: TrainingConfig
) -> list[Batch] | None:
    if pairs is None:
        return None
    check_fit(model, pairs, kind="validation pair")
    return _batches(model, pairs, config)


def _batches(
    model: AnyModel, pairs: list[Pair], config: TrainingConfig, generator: torch.Generator | None = None
) -> list[Batch]:
    pad_id, most = model.config.pad_id, config.batch_tokens
    batches = make_batches(pairs, batch_tokens=most, generator=generator, pad_id=pad_id)
    kind = getattr(model, "batch_type", None)
    return [kind(**vars(batch)) for batch in batches] if kind else batches


def _pairs_of(epoch: int, pairs: Pairs, first: list[Pair], model: AnyModel) -> list[Pair]:
    """Return the pairs of an epoch, where `first` are those of epoch 0."""
    if epoch == 0 or not callable(pairs):
        return first
    own = pairs(epoch)
    check_fit(model, own)
    return own


def objective_of(
    loss: nn.Module, config: TrainingConfig, group: ProcessGroup
) -> nn.Module | RecordedGradients:
    """Return what `update` takes: the loss, in DDP for several processes, or recordings of its kernels."""
    if isinstance(loss, PackedLoss) and group.world_size == 1:
        # an eighth of a batch: in an epoch like that of Multi30k, 40 shapes, and 7% of the tokens are padding
        return RecordedGradients(loss, unit=8 * max(config.batch_tokens // 64, 1))
    return group.data_parallel(loss)


def _stop_if_asked(
    state: TrainingState,
    config: TrainingConfig,
    run_directory: RunDirectory | None,
    stop: Callable[[], bool],
) -> None:
    """Save the state and raise `TrainingStopped` if `stop` returns True in any process."""
    if state.group.any(stop()):
        _save(state, config, run_directory)
        raise TrainingStopped(state.progress.step)


def _save(state: TrainingState, config: TrainingConfig, run_directory: RunDirectory | None) -> None:
    """Save the state, if there is a run directory, unless an update that has not been read has diverged."""
    read_losses(state, config)
    if run_directory is not None:
        run_directory.save(state.to_saved())


@contextmanager
def _naming_the_saved_step(run_directory: RunDirectory | None) -> Iterator[None]:
    """If training has diverged, say which step is saved."""
    try:
        yield
    except FloatingPointError as error:
        if run_directory is None or run_directory.progress.step == 0:
            raise
        saved = f"step {run_directory.progress.step} is saved in {run_directory.folder}"
        raise FloatingPointError(join("; ", [*error.args, saved])) from None


def update(
    state: TrainingState,
    objective: nn.Module | RecordedGradients,
    parts: list[Batch],
    config: TrainingConfig,
) -> str:
    """Make one update of the weights, and return a status line.

    The loss is the mean over the labels of all `parts`, whose gradients are added up one by one. On a GPU,
    the loss is not known yet: the line has that of an earlier update, or none.

    Raises:
        FloatingPointError: If the loss or its gradient is NaN or infinite; the weights are unchanged.
    """
    progress, group = state.progress, state.group
    progress.lr = learning_rate(
        progress.step + 1,
        d_model=state.model.config.d_model,
        warmup_steps=config.warmup_steps,
        max_lr=config.max_lr,
    )
    for parameters in state.optimizer.param_groups:
        parameters["lr"] = progress.lr
    state.optimizer.zero_grad()
    labels = sum(part.num_labels for part in parts)
    own_loss = torch.zeros((), dtype=torch.float64, device=state.diverged.device)
    for number, part in enumerate(parts, start=1):
        own_loss += _add_gradients(state, objective, part, part.num_labels / labels, number == len(parts))
    numbers = step(state, group.total(own_loss), config)
    first, rows = progress.batch + 1, [row for part in parts for row in part.rows]
    progress.step += 1
    progress.batch += len(parts)
    batches = first, progress.batch
    made = Update(progress.step, progress.lr, progress.epoch + 1, batches, rows, labels)
    state.unread.append(LateNumbers(made, numbers))
    late = LATE.get(state.diverged.device.type, 0)
    return read_losses(state, config, late=late) or f"step {progress.step}"


def _add_gradients(
    state: TrainingState,
    objective: nn.Module | RecordedGradients,
    part: Batch,
    weight: float,
    last: bool,
) -> Tensor:
    """Add the gradient of a weighted loss to those of the model, and return this rank's share of the loss."""
    if isinstance(objective, RecordedGradients):
        check_padding(state.model, part)
        return objective(part, weight)
    group = state.group
    shard, own = group.shard(part)
    weight *= own
    with group.synchronized(objective, last):
        share = weight * batch_loss(objective, shard, state.model)
        # DDP averages over the ranks, whose shares have to be summed
        (share * group.world_size).backward()
    return share.detach()


def step(state: TrainingState, loss: Float[Tensor, ""], config: TrainingConfig) -> Float[Tensor, "2"]:
    """Let Adam change the weights, unless training has diverged; return the loss and the gradient's norm.

    The CPU decides nothing here, and so does not wait for a GPU.
    """
    norm = get_total_norm([p.grad for p in state.model.parameters() if p.grad is not None])
    numbers = torch.stack([loss, norm.to(loss)])
    state.diverged = torch.maximum(state.diverged, 1 - numbers.isfinite().all().float())
    if config.clip_norm is not None:
        clip_grads_with_norm_(state.model.parameters(), config.clip_norm, norm)
    state.optimizer.found_inf = state.diverged  # type: ignore[attr-defined]  # then, `Adam` does nothing
    state.optimizer.step()
    return numbers


def read_losses(state: TrainingState, config: TrainingConfig, *, late: int = 0) -> str:
    """Read the losses and norms of all updates but the last `late` ones; return a line about the newest.

    Raises:
        FloatingPointError: If one of them is NaN or infinite. The weights are those before that update.
    """
    line = ""
    while len(state.unread) > late:
        numbers = state.unread.popleft()
        (loss, norm), made = numbers.read(), numbers.update
        _refuse_divergence(made, config, loss, norm)
        state.progress.labels += made.labels
        state.progress.loss_sum += loss * made.labels
        state.progress.norm_sum += norm
        line = f"step {made.step}, loss {loss:.3f}, lr {made.lr:.1e}"
    return line


def _refuse_divergence(made: Update, config: TrainingConfig, loss: float, norm: float) -> None:
    for name, value in (("loss", loss), ("gradient norm", norm)):
        if not math.isfinite(value):
            rows = ", ".join(map(str, made.rows[:9])) + ", …" * (len(made.rows) > 9)
            first, last = made.batches
            place = f"batch {first}" if first == last else f"batches {first} to {last}"
            where = (
                f"the {name} is {value} at step {made.step}, lr {made.lr:.2e}, "
                f"in {place} of epoch {made.epoch} (pairs {rows})"
            )
            message = "{}: training has diverged; give a smaller {max_lr}, or more than {warmup_steps}"
            raise FloatingPointError(Message(message, where, warmup_steps=config.warmup_steps))


def _identity(state: TrainingState, pairs: list[Pair], config: TrainingConfig) -> dict[str, object]:
    """Return the settings that two sessions of one training run must have in common."""
    drawn = {"pairs": fingerprint(pairs), "seed": state.generator.initial_seed()}
    group: dict[str, object] = {"processes": state.group.world_size}
    if not is_transformer(state.model):
        group["model"] = type(unwrap(state.model)).__qualname__
    return drawn | group | config.resume_key() | config_fields(state.model.config)
