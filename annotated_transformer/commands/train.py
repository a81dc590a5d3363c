"""`train`: learn a tokenizer and a model from a corpus, and keep both in a folder."""

import argparse
import dataclasses
import os
import shlex
import signal
from pathlib import Path

import torch

from annotated_transformer.checkpointing.epoch_checkpoints import epoch_checkpoints
from annotated_transformer.checkpointing.training_state import STATE, read_progress
from annotated_transformer.commands.device import DEVICES, take_device
from annotated_transformer.commands.options import add_corpus_options
from annotated_transformer.commands.output import log
from annotated_transformer.commands.signals import StopRequest, Terminated, raise_signal
from annotated_transformer.config import TINY
from annotated_transformer.text.corpus import Corpus, load_corpus
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.distributed import ProcessGroup, join_process_group
from annotated_transformer.training.recipe import Recipe, train_from_recipe
from annotated_transformer.training.stopping import TrainingStopped

SIZES = ("num_layers", "d_model", "d_ff", "num_heads")  # of the model, as `TransformerConfig` names them


def add_train_options(command: argparse.ArgumentParser) -> None:
    """Add what `train` takes."""
    add_corpus_options(command)
    command.add_argument("--out", type=Path, required=True, help="folder for the model")
    command.add_argument("--start", type=Path, metavar="MODEL", help="folder of the model to begin with")
    command.add_argument("--minutes", type=float, help="stop after so many minutes of training")
    command.add_argument("--steps", type=int, help="stop after so many updates of the weights")
    command.add_argument("--vocab-size", type=int, default=4000, help="of both languages (%(default)s)")
    for size in SIZES:
        tiny = getattr(TINY, size)
        command.add_argument(f"--{size.replace('_', '-')}", type=int, default=tiny, help="(%(default)s)")
    command.add_argument("--batch-tokens", type=int, default=2048, help="of each side (%(default)s)")
    command.add_argument("--warmup-steps", type=int, default=200, help="rising learning rate (%(default)s)")
    command.add_argument("--max-lr", type=float, default=3e-3, help="highest learning rate (%(default)s)")
    command.add_argument("--dropout", type=float, default=0.1, help="as in the paper (%(default)s)")
    command.add_argument("--bidirectional", type=int, default=0, metavar="EPOCHS", help="(%(default)s: none)")
    command.add_argument("--average", type=int, default=1, metavar="EPOCHS", help="(%(default)s)")
    command.add_argument("--save-minutes", type=float, default=3.0, help="between two saves (%(default)s)")
    command.add_argument("--bpe-dropout", type=float, default=0.0, metavar="P", help="(%(default)s: none)")
    command.add_argument("--bf16", action="store_true", help="products in bfloat16")
    command.add_argument(
        "--fast", action=argparse.BooleanOptionalAction, help="quicker modules (default: if not on CUDA)"
    )
    command.add_argument("--compile", action="store_true", help="have encoder and decoder compiled")
    command.add_argument("--device", choices=DEVICES, help="(default: cuda, if there is one)")
    command.add_argument("--seed", type=int, default=0, help="of everything random (%(default)s)")


def train_command(options: argparse.Namespace) -> None:
    """Learn a tokenizer and a small model, and save both.

    SIGINT (Ctrl-C) and SIGTERM save a checkpoint before they end the run; a second signal ends it at
    once. An interrupted run resumes when the same command is given again. Under torchrun, several
    processes share each batch.
    """
    device = take_device(options.device)
    recipe = _recipe(options, fast=device.type == "cpu")
    corpus = load_corpus(options.corpus, folder=options.data, source=options.source, target=options.target)
    _refuse_unwritable(options.out)
    with join_process_group() as group:
        if group.rank == 0:
            log(corpus.summary())
        _train(options, recipe, corpus, device, group)
        if group.rank == 0:
            _say_what_is_there(options.out, options.average)


def _train(
    options: argparse.Namespace, recipe: Recipe, corpus: Corpus, device: torch.device, group: ProcessGroup
) -> None:
    """Train until the end, or until a signal, which is raised after the state is saved."""
    try:
        with StopRequest() as stop:
            train_from_recipe(
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
    except (TrainingStopped, KeyboardInterrupt, Terminated) as error:
        if group.rank == 0 and (options.out / STATE).exists():
            log(_how_to_resume(options, group))
        if isinstance(error, TrainingStopped):
            raise_signal(stop.signal or signal.SIGINT)  # none: another process got it
        raise


def _how_to_resume(options: argparse.Namespace, group: ProcessGroup) -> str:
    program = "python" if group.world_size == 1 else f"torchrun --nproc-per-node={group.world_size}"
    command = shlex.join([*program.split(), "-m", "annotated_transformer", *options.arguments])
    return f"step {read_progress(options.out).step} is saved in {options.out}; to resume, run\n{command}"


def _recipe(options: argparse.Namespace, *, fast: bool) -> Recipe:
    sizes = {size: getattr(options, size) for size in SIZES}
    return Recipe(
        shape=dataclasses.replace(TINY, vocab_size=options.vocab_size, dropout=options.dropout, **sizes),
        training=_training_config(options, fast=fast),
        bpe_dropout=options.bpe_dropout,
        bidirectional=options.bidirectional,
        average=options.average,
        compiled=options.compile,
    )


def _training_config(options: argparse.Namespace, *, fast: bool) -> TrainingConfig:
    return TrainingConfig(
        steps=options.steps,
        minutes=options.minutes,
        batch_tokens=options.batch_tokens,
        warmup_steps=options.warmup_steps,
        max_lr=options.max_lr,
        bf16=options.bf16,
        fast=fast if options.fast is None else options.fast,
    )


def _say_what_is_there(folder: Path, average: int) -> None:
    epochs = min(average, len(epoch_checkpoints(folder)))
    step = read_progress(folder).step
    mean = "" if epochs == 1 else f", the mean of the last {epochs} epochs' weights"
    log(f"{folder} has the model of step {step}{mean}")


def _refuse_unwritable(folder: Path) -> None:
    """Find out before the training, not after it."""
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{folder} cannot be written to; give another folder for --out")
