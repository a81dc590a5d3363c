"""The options of `train`, and its help."""

import argparse
from typing import Any, get_args, get_type_hints

from annotated_transformer.commands.options import DEVICES, add_corpus_options, describe_command, path
from annotated_transformer.config import TINY, TransformerConfig

DESCRIPTION = (
    "Train a tokenizer and a small model, and save both. SIGINT (Ctrl-C) and SIGTERM save a checkpoint "
    "before they end the run; a second signal ends it at once. An interrupted run resumes when the same "
    "command is given again. Under torchrun, several processes share each batch."
)
SIZES = {  # fields of `TransformerConfig`
    "num_layers": "number of encoder layers, and of decoder layers",
    "d_model": "features of a token between layers",
    "d_ff": "features inside the feed-forward networks",
    "num_heads": "attention heads in each layer",
}


def add_train_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `train`, in groups."""
    describe_command(
        command,
        DESCRIPTION,
        "--corpus toy --minutes 5 --out my_model",
        "--train-source a.txt --train-target b.txt \\\n"
        "      --source en --target es --minutes 30 --out my_model",
    )
    add_corpus_options(command)
    _add_run_options(command)
    _add_limits(command)
    _add_model_options(command)
    _add_optimization_options(command)
    _add_speed_options(command)


def _add_run_options(command: argparse.ArgumentParser) -> None:
    run = command.add_argument_group("training run", "Where it starts, and what it saves.")
    _add(
        run,
        "--out",
        "folder of the training run: it gets the model, and the state to resume from",
        type=path,
        required=True,
    )
    _add(
        run,
        "--start",
        "folder of a trained model, or name of one in this package, to start from: with its shape, "
        "tokenizer and weights (default: new weights)",
        type=path,
        metavar="MODEL",
    )
    _add(
        run,
        "--keep",
        "which model to keep: last, that of the last epoch; best, that of the epoch with the lowest "
        "validation loss (default: %(default)s)",
        choices=("last", "best"),
        default="last",
    )
    _add(
        run,
        "--average",
        "average the weights of the last EPOCHS epochs, or with --keep best, of those up to the best one "
        "(default: %(default)s, no averaging)",
        type=int,
        default=1,
        metavar="EPOCHS",
    )
    _add(
        run,
        "--save-minutes",
        "longest time between two checkpoints, in minutes (default: %(default)s)",
        type=float,
        default=3.0,
        metavar="MINUTES",
    )
    _add(run, "--seed", "random seed, from 0 to 2**32 - 1 (default: %(default)s)", type=int, default=0)
    _add(
        run,
        "--config",
        "JSON file with fields of TransformerConfig and TrainingConfig, such as "
        '{"model": {"max_length": 512}, "training": {"warmup_steps": 400}}; options override it '
        "(default: no file)",
        type=path,
        metavar="FILE",
    )


def _add_limits(command: argparse.ArgumentParser) -> None:
    limits = command.add_argument_group("limits", "The run ends at the first; give --minutes or --steps.")
    _add(limits, "--minutes", "stop after this many minutes of training (default: no limit)", type=float)
    _add(limits, "--steps", "stop after this many updates of the weights (default: no limit)", type=int)
    _add(
        limits,
        "--patience",
        "stop early when the validation loss has not become lower for this many epochs (default: no limit)",
        type=int,
        metavar="EPOCHS",
    )


def _add_model_options(command: argparse.ArgumentParser) -> None:
    model = command.add_argument_group("model")
    _add(
        model,
        "--vocab-size",
        "size of the vocabulary, which both languages share (default: 4000, or that of --start)",
        type=int,
    )
    for size, text in SIZES.items():
        default = f"(default: {getattr(TINY, size)}, or that of --start)"
        _add(model, f"--{size.replace('_', '-')}", f"{text} {default}", type=int)
    _add(
        model,
        "--norm",
        "where layers are normalized: post, after the residual sum, as in the paper; pre, before the "
        "sub-layer (default: post, or that of --start)",
        choices=get_args(get_type_hints(TransformerConfig)["norm"]),
    )


def _add_optimization_options(command: argparse.ArgumentParser) -> None:
    optimization = command.add_argument_group("optimization and regularization")
    _add(
        optimization,
        "--batch-tokens",
        "maximum number of tokens on each side of a batch, padding included (default: 2048)",
        type=int,
    )
    _add(
        optimization,
        "--warmup-steps",
        "updates during which the learning rate rises (default: 1000)",
        type=int,
    )
    _add(
        optimization,
        "--max-lr",
        "highest learning rate, at the end of the warm-up (default: 0.003)",
        type=float,
    )
    _add(
        optimization,
        "--clip-norm",
        "scale the gradient down to this norm if it is longer (default: never)",
        type=float,
        metavar="NORM",
    )
    _add(
        optimization,
        "--label-smoothing",
        "probability mass spread uniformly over the vocabulary (default: 0.1, as in the paper)",
        type=float,
    )
    _add(optimization, "--dropout", "dropout probability (default: 0.1, as in the paper)", type=float)
    _add(
        optimization,
        "--bpe-dropout",
        "BPE dropout: probability of leaving out a merge of the tokenizer (default: %(default)s)",
        type=float,
        default=0.0,
        metavar="P",
    )
    _add(
        optimization,
        "--bidirectional",
        "number of initial epochs that also train the reverse direction (default: %(default)s)",
        type=int,
        default=0,
        metavar="EPOCHS",
    )


def _add_speed_options(command: argparse.ArgumentParser) -> None:
    speed = command.add_argument_group("device and speed")
    _add(speed, "--device", "device to train on (default: cuda if available, otherwise cpu)", choices=DEVICES)
    _add(
        speed,
        "--fast",
        "use accelerated modules, whose dropout masks differ (default: on a CPU, but not on CUDA)",
        action=argparse.BooleanOptionalAction,
    )
    _add(
        speed,
        "--bf16",
        "compute matrix products in bfloat16, slow on CPUs that emulate it (default: in float32)",
        action=argparse.BooleanOptionalAction,
    )
    _add(
        speed,
        "--compile",
        "compile encoder and decoder with torch.compile, which takes minutes (default: do not compile)",
        action="store_true",
    )


def _add(group: "argparse._ArgumentGroup", option: str, text: str, **settings: Any) -> None:
    group.add_argument(option, help=text, **settings)
