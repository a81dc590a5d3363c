"""The training loop: section 5 of the paper, the chapter on training."""

import dataclasses
import math
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm
from tqdm import tqdm

from annotated_transformer.calls import warn
from annotated_transformer.checkpointing.run_directory import RunDirectory
from annotated_transformer.checkpointing.training_state_file import Mode, Progress
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.trainable import AnyModel
from annotated_transformer.text.batching import Batch, Pair, make_batches
from annotated_transformer.training.adam import fused_adam
from annotated_transformer.training.config import LIMITS, TrainingConfig
from annotated_transformer.training.distributed import ProcessGroup
from annotated_transformer.training.identity import source_digest, training_identity
from annotated_transformer.training.limits import completed, is_over
from annotated_transformer.training.loss import batch_loss, plain_loss
from annotated_transformer.training.metrics import Criterion, EpochMetrics, epoch_metrics, refuse_mode
from annotated_transformer.training.pairs import check_fit, overlap_warning
from annotated_transformer.training.schedule import BETAS, EPS, learning_rate
from annotated_transformer.training.stopwatch import Stopwatch
from annotated_transformer.training.training_state import TrainingState

Pairs = list[Pair] | Callable[[int], list[Pair]]
BAR = "{percentage:3.0f}%|{bar:10}| {elapsed}<{remaining}{postfix}"
NEEDS_VALIDATION = "compares validation losses, and there are no validation pairs; leave it out, or add some"


class TrainingStopped(Exception):
    """A training run stopped between two updates because it was asked to; its state is saved.

    The next run on the same folder ends with the weights of an uninterrupted one. The exception
    is raised in every process of the run.
    """

    def __init__(self, step: int) -> None:
        super().__init__(f"the training run was asked to stop, and did after step {step}")
        self.step = step


@dataclass(frozen=True)
class Update:
    """One update of the weights.

    Attributes:
        step: Its number, from 1.
        loss: The loss before it, in nats, with label smoothing and dropout.
        lr: Its learning rate.
        gradient_norm: Before the gradient is clipped.
        metrics: Those of the epoch that it ends, if it ends one.
    """

    step: int
    loss: float
    lr: float
    gradient_norm: float
    metrics: EpochMetrics | None = None


@refuses_other_kinds
def train(
    model: AnyModel,
    pairs: Pairs,
    config: TrainingConfig,
    *,
    generator: torch.Generator | None = None,
    validation: list[Pair] | None = None,
    criterion: Criterion | None = None,
    mode: Mode = "min",
    log: Callable[[EpochMetrics], object] = lambda metrics: None,
    run_directory: RunDirectory | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> list[EpochMetrics]:
    """Train `model` in place with the paper's Adam and schedule, and return metrics for each epoch.

    Args:
        model: Trained in place, on the device that it is on: a `Transformer`, or a `TrainableModel`, which
            computes its own loss. `torch.compile` may have wrapped it. At the end, its modules are in the
            mode, training or evaluation, in which they were before.
        pairs: Pairs to train on, or a function that returns them for an epoch, counted from 0, such as
            `BPEDropout`.
        config: Settings of the training run.
        generator: Draws the order of the pairs, on the CPU (default: one with the seed of torch's own).
            Dropout draws from torch's global generator.
        validation: Pairs to compute the validation loss on, after each epoch.
        criterion: What to call a model best by, and to be patient about, instead of the validation loss: a
            function that returns a number for the model.
        mode: Whether the lowest number is the best ("min"), or the highest ("max"), as with BLEU.
        log: Called with the metrics of each epoch.
        run_directory: Where to save the state of the training run, and to resume it from. No model is written
            there: `save` writes one, with its tokenizer.
        stop: Called before each update. If it returns True, the state is saved and training stops.

    Raises:
        TrainingStopped: If `stop` returned True, in this or in another process of the group.
        RuntimeError: If torchrun started several processes and `join_process_group` was not called.
        FloatingPointError: If the loss or its gradient is NaN or infinite; the weights are unchanged.
        ValueError: If the pairs do not fit the model, there are neither
            validation pairs nor a criterion and `config` has `patience`, the criterion returns no finite
            number, `mode` is not one of the two, `config.fast` is set and the accelerated path would compute
            something else, or the run directory belongs to another run.
    """
    updates = train_steps(
        model,
        pairs,
        config,
        generator=generator,
        validation=validation,
        criterion=criterion,
        mode=mode,
        run_directory=run_directory,
        stop=stop,
    )
    all_metrics = []
    with closing(updates):
        for metrics in epochs_of(updates):
            all_metrics.append(metrics)
            log(metrics)
    return all_metrics


def epochs_of(updates: Iterable[Update]) -> Iterator[EpochMetrics]:
    """Yield the metrics at the end of each epoch.

    The caller may then save the model. The state of the run is saved after that, when the caller asks for
    the next epoch. So a run that is killed in between trains the epoch again, and replaces its model.
    """
    return (made.metrics for made in updates if made.metrics is not None)


@refuses_other_kinds
def train_steps(
    model: AnyModel,
    pairs: Pairs,
    config: TrainingConfig,
    *,
    generator: torch.Generator | None = None,
    validation: list[Pair] | None = None,
    criterion: Criterion | None = None,
    mode: Mode = "min",
    run_directory: RunDirectory | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Generator[Update, None, None]:
    """Train as `train` does, and yield each update of the weights; the last of an epoch has its metrics.

    Between two updates, the caller may look at the model, evaluate it, or leave the loop.
    """
    refuse_mode(mode, criterion)
    if config.patience is not None and validation is None and criterion is None:
        raise ValueError(f"patience={config.patience!r} {NEEDS_VALIDATION}")
    if generator is None:
        generator = torch.Generator().manual_seed(torch.initial_seed())
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ValueError("all weights of the model are frozen; give one or more requires_grad=True")
    accumulate = int(config.accumulate)  # a whole number, but perhaps a float
    first = pairs(0) if callable(pairs) else pairs
    check_fit(model, first)
    held_out = None
    if validation is not None:
        check_fit(model, validation, kind="validation pair")
        held_out = _batches(model, validation, config)
        if not callable(pairs):
            _warn_of_overlap(pairs, validation)
    adam = fused_adam(model, betas=BETAS, eps=EPS)
    state = TrainingState(model, adam, generator)
    code = "" if run_directory is None else source_digest(model)  # now: the files may be edited meanwhile
    with _in_training_mode(model), training_loss(model, config, state.group) as loss:
        identity = training_identity(state, first, config, criterion, mode)
        limits = {name: getattr(config, name) for name in LIMITS}
        state.group.refuse_unequal(
            {**(run_directory.identity if run_directory else {}), **identity, **limits}
        )
        objective = state.group.data_parallel(loss)
        if run_directory is not None:
            saved = run_directory.resume(state.to_saved(), identity, code)
            if saved is not None:
                state.restore(saved)
        stopwatch = Stopwatch(state.progress.seconds)
        made = Update(state.progress.step, math.nan, state.progress.lr, math.nan)
        hidden = True if state.group.rank > 0 else None  # None: shown in a terminal only
        bar = tqdm(total=1.0, disable=hidden, bar_format=BAR)
        with _naming_the_saved_step(run_directory), bar:
            while not is_over(config, state.progress):
                epoch_pairs = first
                if state.progress.epoch > 0 and callable(pairs):
                    epoch_pairs = pairs(state.progress.epoch)
                    check_fit(model, epoch_pairs)
                batches = _batches(model, epoch_pairs, config, generator)
                for first_batch in range(state.progress.batch, len(batches), accumulate):
                    parts = batches[first_batch : first_batch + accumulate]
                    _stop_if_asked(state, run_directory, stop)
                    made = update(state, objective, parts, config)
                    # every rank ends the run by rank 0's clock
                    seconds = stopwatch.lap(sum(part.num_labels for part in parts))
                    state.progress.seconds = state.group.broadcast(seconds)
                    speed = f"{stopwatch.tokens_per_second:.0f} tokens/s"
                    line = f"step {made.step}, loss {made.loss:.3f}, lr {made.lr:.1e}, {speed}"
                    bar.set_postfix_str(line)
                    bar.update(min(completed(config, state.progress), 1.0) - bar.n)
                    if is_over(config, state.progress) or state.progress.batch == len(batches):
                        break  # it is yielded with the metrics
                    if run_directory is not None and state.group.broadcast(run_directory.is_due()):
                        run_directory.save(state.to_saved())
                    yield made
                metrics = epoch_metrics(state, config, held_out, batches, stopwatch, criterion, mode)
                yield dataclasses.replace(made, metrics=metrics)
                if state.progress.batch == len(batches):
                    judged = metrics.validation_loss if criterion is None else metrics.criterion
                    state.end_epoch(judged, mode)
                if run_directory is not None:
                    run_directory.report(dataclasses.asdict(metrics))
                    run_directory.save(state.to_saved())


@contextmanager
def _in_training_mode(model: nn.Module) -> Iterator[None]:
    """Turn dropout on, and return each module to the mode that it had."""
    modes = {module: module.training for module in model.modules()}
    model.train()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def training_loss(
    model: AnyModel, config: TrainingConfig, group: ProcessGroup
) -> AbstractContextManager[nn.Module]:
    """Return a context with the loss of a batch: the plain one, or an accelerated one if `config.fast`.

    With bfloat16, warn if the CPU probably has to emulate it.
    """
    on_cpu = next(model.parameters()).device.type == "cpu"
    if config.bf16 and on_cpu and torch.backends.cpu.get_cpu_capability() == "AVX2":
        warn(
            "PyTorch finds no AVX-512 instructions on this CPU, so it probably emulates bfloat16, and "
            "training may take ten times as long as in float32; leave out bf16=True"
        )
    if not config.fast:
        return nullcontext(plain_loss(model, smoothing=config.label_smoothing, bf16=config.bf16))
    from annotated_transformer.fast.training import fast_loss  # a guest: nothing else here knows it

    return fast_loss(model, group, smoothing=config.label_smoothing, bf16=config.bf16)


def _warn_of_overlap(pairs: list[Pair], validation: list[Pair]) -> None:
    known, held_out = ([(tuple(src), tuple(tgt)) for src, tgt in each] for each in (pairs, validation))
    if warning := overlap_warning(known, held_out):
        warn(warning)


def _batches(
    model: AnyModel, pairs: list[Pair], config: TrainingConfig, generator: torch.Generator | None = None
) -> list[Batch]:
    pad_id, most = model.config.pad_id, config.batch_tokens
    batches = make_batches(pairs, batch_tokens=most, generator=generator, pad_id=pad_id)
    kind = getattr(model, "batch_type", None)
    return [kind(**vars(batch)) for batch in batches] if kind else batches


def _stop_if_asked(
    state: TrainingState, run_directory: RunDirectory | None, stop: Callable[[], bool]
) -> None:
    """Save the state and raise `TrainingStopped` if `stop` returns True in any process."""
    if state.group.any(stop()):
        if run_directory is not None:
            run_directory.save(state.to_saved())
        raise TrainingStopped(state.progress.step)


@contextmanager
def _naming_the_saved_step(run_directory: RunDirectory | None) -> Iterator[None]:
    """If training has diverged, say which step is saved."""
    try:
        yield
    except FloatingPointError as error:
        if run_directory is None or run_directory.progress.step == 0:
            raise
        saved = f"step {run_directory.progress.step} is saved in {run_directory.folder}"
        raise FloatingPointError(f"{error}; {saved}") from None


def update(
    state: TrainingState,
    objective: nn.Module,
    parts: list[Batch],
    config: TrainingConfig,
) -> Update:
    """Make one update of the weights.

    The loss is the mean over the labels of all `parts`, whose gradients are added up.
    """
    progress, weights = state.progress, [*state.model.parameters()]
    progress.lr = learning_rate(
        progress.step + 1,
        d_model=state.model.config.d_model,
        warmup_steps=config.warmup_steps,
        max_lr=config.max_lr,
    )
    for group in state.optimizer.param_groups:
        group["lr"] = progress.lr  # 1. the rate of this update
    state.optimizer.zero_grad()  # 2. forget old gradients
    loss = add_gradients(state, objective, parts)  # 3. to 5.
    norm = get_total_norm([p.grad for p in weights if p.grad is not None])
    made = Update(progress.step + 1, loss, progress.lr, float(norm))
    _refuse_divergence(made, progress, parts, config)
    if config.clip_norm is not None:
        clip_grads_with_norm_(weights, config.clip_norm, norm)
    state.optimizer.step()  # 6. Adam moves the weights
    _count(made, progress, parts)
    return made


def add_gradients(
    state: TrainingState,
    objective: nn.Module,
    parts: list[Batch],
) -> float:
    """Add the gradient of the mean loss to those of the model, and return the loss.

    Each process of the group takes its rows of each part.
    """
    group, loss = state.group, 0.0
    labels = sum(part.num_labels for part in parts)
    for number, part in enumerate(parts, start=1):
        shard, share_of_labels = group.shard(part)
        weight = part.num_labels / labels * share_of_labels
        with group.synchronized(objective, number == len(parts)):
            share = weight * batch_loss(objective, shard, state.model)  # 3. and 4.
            # DDP averages over the processes, whose shares have to be summed
            (share * group.world_size).backward()  # 5. a gradient for each weight
        loss += share.item()
    return group.sum(loss)


def _count(made: Update, progress: Progress, parts: list[Batch]) -> None:
    labels = sum(part.num_labels for part in parts)
    progress.step = made.step
    progress.batch += len(parts)
    progress.labels += labels
    progress.loss_sum += made.loss * labels
    progress.norm_sum += made.gradient_norm


def _refuse_divergence(made: Update, progress: Progress, parts: list[Batch], config: TrainingConfig) -> None:
    for name, value in (("loss", made.loss), ("gradient norm", made.gradient_norm)):
        if not math.isfinite(value):
            rows = [row for part in parts for row in part.rows]
            pairs = ", ".join(str(row + 1) for row in rows[:9]) + ", …" * (len(rows) > 9)
            first, last = progress.batch + 1, progress.batch + len(parts)
            place = f"batch {first}" if first == last else f"batches {first} to {last}"
            where = (
                f"the {name} is {value} at step {made.step}, lr {made.lr:.2e}, "
                f"in {place} of epoch {progress.epoch + 1} (pairs {pairs})"
            )
            raise FloatingPointError(
                f"{where}: training has diverged; give a smaller max_lr, or more than "
                f"warmup_steps={config.warmup_steps}"
            )
