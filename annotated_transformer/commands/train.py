"""`train`: train a tokenizer and a model on a corpus, and save both."""

import argparse
import os
import shlex
import signal
from pathlib import Path
from typing import Any, get_args, get_type_hints

import torch

from annotated_transformer.checkpointing.averaging import epoch_checkpoints
from annotated_transformer.checkpointing.training_state import STATE, read_identity, read_progress
from annotated_transformer.commands.config_file import (
    DEFAULT_TRAINING,
    add_config_option,
    model_config,
    start_folder,
    training_config,
)
from annotated_transformer.commands.options import (
    DEVICES,
    add_corpus_options,
    name_options,
    path,
    take_device,
)
from annotated_transformer.commands.output import log
from annotated_transformer.commands.signals import StopRequest, Terminated, raise_signal
from annotated_transformer.config import TINY, TransformerConfig
from annotated_transformer.text.corpus import Corpus, load_corpus
from annotated_transformer.training.distributed import ProcessGroup, join_process_group
from annotated_transformer.training.recipe import Recipe, train_from_recipe
from annotated_transformer.training.trainer import TrainingStopped

SIZES = {  # fields of `TransformerConfig`
    "num_layers": "number of encoder layers, and of decoder layers",
    "d_model": "features of a token between layers",
    "d_ff": "features inside the feed-forward networks",
    "num_heads": "attention heads in each layer",
}


def add_train_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `train`."""
    add_corpus_options(command)

    def add(option: str, text: str, **settings: Any) -> None:
        command.add_argument(option, help=text, **settings)

    add("--out", "folder for the model and for the state of the training run", type=path, required=True)
    add(
        "--start",
        "folder of a trained model, or name of one in this package, to start from: with its shape, "
        "tokenizer and weights (default: new weights)",
        type=path,
        metavar="MODEL",
    )
    add("--minutes", "stop after this many minutes of training (default: no limit)", type=float)
    add("--steps", "stop after this many updates of the weights (default: no limit)", type=int)
    add(
        "--vocab-size",
        "size of the vocabulary, which both languages share (default: 4000, or that of --start)",
        type=int,
    )
    for size, text in SIZES.items():
        default = f"(default: {getattr(TINY, size)}, or that of --start)"
        add(f"--{size.replace('_', '-')}", f"{text} {default}", type=int)
    add(
        "--norm",
        "where layers are normalized: post, after the residual sum, as in the paper; pre, before the "
        "sub-layer (default: post, or that of --start)",
        choices=get_args(get_type_hints(TransformerConfig)["norm"]),
    )
    add(
        "--batch-tokens",
        "maximum number of tokens on each side of a batch, padding included (default: 2048)",
        type=int,
    )
    add("--warmup-steps", "updates during which the learning rate rises (default: 1000)", type=int)
    add("--max-lr", "highest learning rate, at the end of the warm-up (default: 0.003)", type=float)
    add(
        "--label-smoothing",
        "probability mass spread uniformly over the vocabulary (default: 0.1, as in the paper)",
        type=float,
    )
    add("--dropout", "dropout probability (default: 0.1, as in the paper)", type=float)
    both = "number of initial epochs that also train the reverse direction (default: %(default)s)"
    add("--bidirectional", both, type=int, default=0, metavar="EPOCHS")
    mean = "average the weights of the last EPOCHS epochs (default: %(default)s, no averaging)"
    add("--average", mean, type=int, default=1, metavar="EPOCHS")
    add(
        "--save-minutes",
        "longest time between two checkpoints, in minutes (default: %(default)s)",
        type=float,
        default=3.0,
    )
    bpe = "BPE dropout: probability of leaving out a merge of the tokenizer (default: %(default)s)"
    add("--bpe-dropout", bpe, type=float, default=0.0, metavar="P")
    bf16 = "compute matrix products in bfloat16, slow on CPUs that emulate it (default: in float32)"
    add("--bf16", bf16, action=argparse.BooleanOptionalAction)
    fast = "use accelerated modules, whose dropout masks differ (default: on a CPU, but not on CUDA)"
    add("--fast", fast, action=argparse.BooleanOptionalAction)
    add_config_option(command)
    compiled = "compile encoder and decoder with torch.compile (default: do not compile)"
    add("--compile", compiled, action="store_true")
    add("--device", "device to train on (default: cuda if available, otherwise cpu)", choices=DEVICES)
    add("--seed", "random seed, from 0 to 2**32 - 1 (default: %(default)s)", type=int, default=0)


def train_command(options: argparse.Namespace) -> None:
    """Train a tokenizer and a small model, and save both.

    SIGINT (Ctrl-C) and SIGTERM save a checkpoint before they end the run; a second signal ends it at
    once. An interrupted run resumes when the same command is given again. Under torchrun, several
    processes share each batch.
    """
    if not options.save_minutes >= 0:
        raise ValueError(
            f"--save-minutes {options.save_minutes:g} is not a duration; give 0 (after each update) or more"
        )
    device = take_device(options.device)
    _warn_of_other_languages(options)
    options.start = start_folder(options.start)
    recipe = _recipe(options, fast=device.type == "cpu")
    corpus = load_corpus(options.corpus, folder=options.data, source=options.source, target=options.target)
    _refuse_unwritable(options.out)
    with join_process_group() as group:
        if group.rank == 0:
            log(corpus.summary())
        step = _train(options, recipe, corpus, device, group)
        if group.rank == 0:
            _log_result(options.out, step, options.average)


def _warn_of_other_languages(options: argparse.Namespace) -> None:
    """Log a warning if `--start` names a model for other languages."""
    start, wanted = options.start, f"{options.source}-{options.target}"
    if start is not None and start_folder(start) != start and str(start) != wanted:
        log(
            f"warning: --start {start} was trained from {' to '.join(str(start).split('-'))}, and this run "
            f"translates from {options.source} to {options.target}"
        )


def _train(
    options: argparse.Namespace, recipe: Recipe, corpus: Corpus, device: torch.device, group: ProcessGroup
) -> int:
    """Return the last step; after a signal, save the state, and raise the signal's exception."""
    try:
        with StopRequest() as stop:
            return train_from_recipe(
                recipe,
                corpus,
                options.out,
                seed=options.seed,
                start=options.start,
                device=device,
                save_seconds=60 * options.save_minutes,
                stop=stop,
                log=lambda message: log(name_options(message, options)),
            )
    except (TrainingStopped, KeyboardInterrupt, Terminated) as error:
        if group.rank == 0 and (options.out / STATE).exists():
            log(_how_to_resume(options, group))
        if isinstance(error, TrainingStopped):
            raise_signal(stop.signal or signal.SIGINT)  # None: another process received it
        raise


def _how_to_resume(options: argparse.Namespace, group: ProcessGroup) -> str:
    program = "python" if group.world_size == 1 else f"torchrun --nproc-per-node={group.world_size}"
    command = shlex.join([*program.split(), "-m", "annotated_transformer", *options.arguments])
    return f"step {read_progress(options.out).step} is saved in {options.out}; to resume, run\n{command}"


def _recipe(options: argparse.Namespace, *, fast: bool) -> Recipe:
    begun = DEFAULT_TRAINING | read_identity(options.out)  # older runs began with another default warm-up
    return Recipe(
        shape=model_config(options, options.start),
        training=training_config(options, fast=fast, warmup_steps=begun["warmup_steps"]),
        bpe_dropout=options.bpe_dropout,
        bidirectional=options.bidirectional,
        average=options.average,
        compiled=options.compile,
    )


def _log_result(folder: Path, step: int, average: int) -> None:
    epochs = min(average, len(epoch_checkpoints(folder)))
    mean = "" if epochs == 1 else f", the mean of the last {epochs} epochs' weights"
    log(f"{folder} has the model of step {step}{mean}")


def _refuse_unwritable(folder: Path) -> None:
    """Check that the folder can be written to before training, not after."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise ValueError(f"--out {folder} is not a folder; give another name") from error
    except OSError as error:
        raise OSError(
            error.errno, f"--out {folder} cannot be made ({error.strerror}); give another folder"
        ) from error
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{folder} cannot be written to; give another folder for --out")
