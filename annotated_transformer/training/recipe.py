"""From a corpus to a trained model in a folder: the chapter on training."""

import dataclasses
from collections.abc import Callable
from contextlib import closing
from functools import wraps
from pathlib import Path

import torch

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.rank_0 import from_rank_0
from annotated_transformer.checkpointing.run_directory import RunDirectory, refuse_foreign_model
from annotated_transformer.checkpointing.training_state_file import Mode, Progress
from annotated_transformer.config import TransformerConfig
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import encode_pairs, make_batches
from annotated_transformer.text.corpus import Corpus
from annotated_transformer.text.tokenizer import Tokenizer
from annotated_transformer.training.config import Recipe as Recipe
from annotated_transformer.training.config import refuse_seed
from annotated_transformer.training.identity import recipe_identity
from annotated_transformer.training.limits import is_out_of_patience
from annotated_transformer.training.loss import mean_loss
from annotated_transformer.training.metrics import EpochMetrics, collapse_warning, refuse_mode
from annotated_transformer.training.pairs import overlap_warning, refuse_long_pairs, training_pairs
from annotated_transformer.training.schedule import warm_up_warning
from annotated_transformer.training.trainer import NEEDS_VALIDATION, epochs_of, train_steps


@refuses_other_kinds
def train_from_recipe(
    recipe: Recipe,
    corpus: Corpus,
    folder: str | Path,
    *,
    seed: int,
    start: Path | None = None,
    device: torch.device | str = "cpu",
    criterion: Callable[[Transformer, Tokenizer], float] | None = None,
    mode: Mode = "min",
    save_seconds: float = 180.0,
    stop: Callable[[], bool] = lambda: False,
    log: Callable[[object], object] = lambda message: None,
) -> int:
    """Train a tokenizer and a model on `corpus` into `folder`, or resume an interrupted run there.

    After each epoch, `folder` holds the model: the mean of the last epochs, or of those up to the best one.
    Only rank 0 logs and writes files. A warning is logged if the run ends within the warm-up, before it
    starts if its number of steps is known; another one, once, if the encoder has collapsed after the warm-up
    or at the end. The step of the model in the folder is returned.

    Args:
        recipe: All other settings.
        corpus: Its split `train`, and its validation split if there is one.
        folder: The run directory.
        seed: Seed of the initial weights, the order of the pairs, dropout, and BPE dropout.
        start: Folder of a model whose tokenizer and weights to start from.
        device: Where to train.
        criterion: As in `train`, but called with the model and its tokenizer.
        mode: As in `train`.
        save_seconds: Longest time between two saves of the state.
        stop: As in `train`.
        log: Called with the metrics of each epoch, and with messages.

    Raises:
        TrainingStopped: If `stop` returned True; the state is saved in the folder.
        RuntimeError: If torchrun started several processes and `join_process_group` was not called.
        ValueError: If the folder holds another training run or a foreign model, if `start` holds a model
            of another shape, if there is no validation split and the recipe compares validation losses, if
            `mode` is not one of the two, or if `seed` has more than 32 bits.
    """
    refuse_seed(seed)
    refuse_mode(mode, criterion)
    if criterion is None:
        _refuse_no_validation(recipe, corpus)
    run_directory = RunDirectory(folder, seconds=save_seconds, log=log)
    run_directory.languages = corpus.languages
    from_rank_0(refuse_foreign_model, Path(folder))  # before the tokenizer is trained, which takes time
    model, tokenizer = _start_model(recipe, corpus, seed, start)
    run_directory.identity = recipe_identity(recipe, corpus, tokenizer, None if start is None else model)
    positions, batch_tokens = recipe.shape.max_length, recipe.training.batch_tokens
    refuse_long_pairs(corpus, tokenizer, positions=positions, batch_tokens=batch_tokens)
    pairs = training_pairs(
        corpus.splits["train"],
        tokenizer,
        bidirectional=recipe.bidirectional,
        bpe_dropout=recipe.bpe_dropout,
        longest=min(positions, batch_tokens),
        seed=seed,
    )
    model.to(device)

    texts = None if corpus.validation is None else corpus.splits[corpus.validation]
    validation = None if texts is None else encode_pairs(tokenizer, texts)

    def judge(model: Transformer) -> float:
        """Return what the criterion says of the model or, without one, its validation loss."""
        if criterion is not None:
            return criterion(model, tokenizer)
        batches = make_batches(validation or [], batch_tokens=recipe.training.batch_tokens)
        return mean_loss(model, batches)

    updates = train_steps(
        model,
        pairs,
        recipe.training,
        generator=torch.Generator().manual_seed(seed),
        validation=validation,
        criterion=None if criterion is None else wraps(criterion)(judge),
        mode=mode,
        run_directory=run_directory,
        stop=stop,
    )
    extreme = "highest" if mode == "max" else "lowest"
    judged = f"{'validation loss' if criterion is None else 'criterion'} was {extreme}"
    report = _Report(recipe, judged, log if run_directory.writes else lambda message: None)
    metrics, kept_step = None, 0
    with run_directory, closing(updates):
        report.before(overlap_warning(corpus.splits["train"], texts or []))
        for metrics in epochs_of(updates):
            report.epoch(metrics)
            best = recipe.keep == "last" or metrics.best_epoch == metrics.epoch
            kept_step = metrics.step if best else kept_step
            run_directory.save_model(
                metrics.epoch, model, tokenizer, average=recipe.average, keep=recipe.average, best=best
            )
        if metrics is None:
            kept_step = _save_last(run_directory, model, tokenizer, recipe, judge, mode)
        report.after(run_directory.progress)
        return kept_step or run_directory.progress.best_step


class _Report:
    """Log the metrics of a training run, and the warnings that follow from them, once each."""

    def __init__(self, recipe: Recipe, judged: str, log: Callable[[object], object]) -> None:
        self.judged = judged
        self.config, self.norm, self.log = recipe.training, recipe.shape.norm, log
        self.collapsed = False

    def before(self, overlap: str | None) -> None:
        if overlap is not None:
            self.log(f"warning: {overlap}")
        steps, warmup_steps = self.config.steps, self.config.warmup_steps
        if steps is not None and steps < warmup_steps:
            self.log(warm_up_warning(steps, warmup_steps))

    def epoch(self, metrics: EpochMetrics) -> None:
        self.log(metrics)
        if metrics.encoder_collapsed and not self.collapsed:
            self.log(collapse_warning(metrics, self.config.warmup_steps, norm=self.norm))
            self.collapsed = True

    def after(self, progress: Progress) -> None:
        if is_out_of_patience(self.config, progress):
            self.log(
                f"stopped early (patience={self.config.patience!r}): the {self.judged} "
                f"at the end of epoch {progress.best_epoch}"
            )
        known = self.config.steps is not None and self.config.steps < self.config.warmup_steps
        if progress.step < self.config.warmup_steps and not known:
            self.log(warm_up_warning(progress.step, self.config.warmup_steps))


def _save_last(
    run_directory: RunDirectory,
    model: Transformer,
    tokenizer: Tokenizer,
    recipe: Recipe,
    judge: Callable[[Transformer], float],
    mode: Mode,
) -> int:
    """Save the model of a run that had nothing left to train, and return its step; `average` may be new."""
    progress, average = run_directory.progress, recipe.average
    best = recipe.keep == "last"
    if progress.batch:  # killed within an epoch, where the new limits end the run
        best = best or progress.is_best(judge(model), mode)
        last = progress.epoch + 1
        run_directory.save_model(last, model, tokenizer, average=average, keep=last, best=best)
    elif best:
        run_directory.save_mean(average)
    return progress.step if best else progress.best_step


def _refuse_no_validation(recipe: Recipe, corpus: Corpus) -> None:
    if corpus.validation is not None:
        return
    if recipe.keep == "best":
        raise ValueError(f"keep={recipe.keep!r} {NEEDS_VALIDATION}")
    if recipe.training.patience is not None:
        raise ValueError(f"patience={recipe.training.patience!r} {NEEDS_VALIDATION}")


def _start_model(
    recipe: Recipe, corpus: Corpus, seed: int, start: Path | None
) -> tuple[Transformer, Tokenizer]:
    """Return a new model and its tokenizer, or those in `start`, with the recipe's dropout."""
    if start is None:
        texts = (text for pair in corpus.splits["train"] for text in pair)
        tokenizer = Tokenizer.train(texts, vocab_size=recipe.shape.vocab_size)
    else:
        trained, tokenizer = checkpoint.load(start)
        _refuse_another_shape(start, trained.config, recipe.shape)
    tokenizer = tokenizer.cleaning() if corpus.cleaned else tokenizer
    torch.manual_seed(seed)  # for the first weights and for dropout
    shape = dataclasses.replace(recipe.shape, vocab_size=tokenizer.vocab_size)
    model = Transformer(shape)
    if start is not None:
        model.load_state_dict(trained.state_dict())
    return model, tokenizer


def _refuse_another_shape(start: Path, loaded: TransformerConfig, asked: TransformerConfig) -> None:
    differing = [
        f"{field.name}={getattr(loaded, field.name)!r}, not {getattr(asked, field.name)!r}"
        for field in dataclasses.fields(loaded)
        if field.name not in ("vocab_size", "dropout")
        and getattr(loaded, field.name) != getattr(asked, field.name)
    ]
    if differing:
        raise ValueError(
            f"the model in {start} has {' and '.join(differing)}; ask for its shape, or start without it"
        )
