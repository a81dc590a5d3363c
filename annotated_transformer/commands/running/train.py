"""The work of `train`: train a tokenizer and a model on a corpus, and save both."""

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import torch

from annotated_transformer.checkpointing.averaging import epoch_checkpoints
from annotated_transformer.checkpointing.checkpoint import read_languages
from annotated_transformer.checkpointing.rank_0 import from_rank_0
from annotated_transformer.checkpointing.training_state_file import STATE_FILE, read_progress
from annotated_transformer.commands.options.corpus import chosen_languages, read_corpus
from annotated_transformer.commands.options.training import model_config, start_folder, training_config
from annotated_transformer.commands.output import log
from annotated_transformer.commands.signals import StopRequest, Terminated, handle_signals, raise_signal
from annotated_transformer.devices import describe_device, take_device
from annotated_transformer.text.corpus import Corpus
from annotated_transformer.training.config import Recipe
from annotated_transformer.training.distributed import ProcessGroup, is_lost_connection, join_process_group
from annotated_transformer.training.recipe import train_from_recipe
from annotated_transformer.training.trainer import TrainingStopped


def train_and_save(options: argparse.Namespace) -> None:
    """Train a tokenizer and a small model, and save both."""
    if not options.save_minutes >= 0:
        raise ValueError(f"save_minutes={options.save_minutes} is not a duration; give 0 or more")
    device = take_device(options.device)
    with _process_group() as group:  # before files are read: if that fails, the others then end, too
        options.start = start_folder(options.start)
        _warn_of_languages(options)
        recipe = Recipe(
            shape=model_config(options, options.start),
            training=training_config(options),
            bpe_dropout=options.bpe_dropout,
            bidirectional=options.bidirectional,
            average=options.average,
            keep=options.keep,
        )
        corpus = read_corpus(options)
        from_rank_0(_refuse_unwritable, options.out)
        if group.rank == 0:
            log(corpus.summary())
            log(f"Training on {describe_device(device)}.")
        step = _train(options, recipe, corpus, device, group)
        if group.rank == 0:
            _log_result(options.out, step, recipe)


@contextmanager
def _process_group() -> Iterator[ProcessGroup]:
    with ExitStack() as stack:
        with handle_signals(signal.SIG_DFL):  # a handler would run only when all the others have come
            group = stack.enter_context(join_process_group())
        yield group


def _warn_of_languages(options: argparse.Namespace) -> None:
    """Log a warning if the languages are not known, or if `--start` names a model for others."""
    languages = chosen_languages(options)
    if languages is None:
        log(
            "warning: without --source and --target, the model does not store its languages; give the codes "
            "of both, such as --source en --target es"
        )
    known = read_languages(options.start) if options.start and options.start.is_dir() else None
    if known and languages and known != languages:
        log(
            f"warning: --start {options.start} was trained from {known.source} to {known.target}, and this "
            f"run translates from {languages.source} to {languages.target}"
        )


def _train(
    options: argparse.Namespace, recipe: Recipe, corpus: Corpus, device: torch.device, group: ProcessGroup
) -> int:
    """Return the last step; after a signal, save the state, and raise the signal's exception."""
    stop = StopRequest()
    try:
        with handle_signals(stop.note):
            return train_from_recipe(
                recipe,
                corpus,
                options.out,
                seed=options.seed,
                start=options.start,
                device=device,
                save_seconds=60 * options.save_minutes,
                stop=stop,
                log=log,
            )
    except (TrainingStopped, KeyboardInterrupt, Terminated, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not is_lost_connection(error):
            raise
        if group.rank == 0 and (options.out / STATE_FILE).exists():
            log(_how_to_resume(options, group))
        if isinstance(error, TrainingStopped):
            raise_signal(stop.signal or signal.SIGINT)  # None: another process received it
        raise


def _how_to_resume(options: argparse.Namespace, group: ProcessGroup) -> str:
    """Return a command that resumes the run from any folder, with the Python that runs now."""
    saved = f"step {read_progress(options.out).step} is saved in {options.out}; to resume"
    if group.world_size != int(os.environ.get("LOCAL_WORLD_SIZE", group.world_size)):
        return f"{saved}, start torchrun again on each machine, as before"
    program = [sys.executable, "-m", "annotated_transformer"]
    if group.world_size > 1:
        several = ["torch.distributed.run", "--standalone", f"--nproc-per-node={group.world_size}"]
        # without --, torchrun takes our --start for an option of its own
        program = [sys.executable, "-m", *several, "-m", "--", "annotated_transformer"]
    elif Path(sys.argv[0]).stem == "annotated-transformer":  # the installed script
        program = [str(Path(sys.argv[0]).absolute())]
    command = shlex.join([*program, *options.arguments])
    return f"{saved}, run\ncd {shlex.quote(str(Path.cwd()))} && {command}"


def _log_result(folder: Path, step: int, recipe: Recipe) -> None:
    result = f"{folder} has the model of step {step}"
    if recipe.keep == "best":
        mean = "" if recipe.average == 1 else ", averaged with the epochs before"
        log(f"{result}, whose validation loss is the lowest{mean}")
        return
    epochs = min(recipe.average, len(epoch_checkpoints(folder)))
    log(result + ("" if epochs == 1 else f", the mean of the last {epochs} epochs' weights"))


def _refuse_unwritable(folder: Path) -> None:
    """Check that the folder can be written to before training, not after."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--out {folder} cannot be made ({error.strerror}); give another folder") from error
    if not os.access(folder, os.W_OK):
        raise ValueError(f"--out {folder} cannot be written to; give another folder")
