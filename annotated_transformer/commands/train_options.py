"""The options of `train`, and its help; each field of the model's and the training's config is an option."""

import argparse
import dataclasses
import inspect
import re
from collections.abc import Mapping
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from annotated_transformer.commands.options import (
    ONLY_IN_FILE,
    add_corpus_options,
    add_device_option,
    describe_command,
    option_name,
    path,
)
from annotated_transformer.config import TINY, TransformerConfig
from annotated_transformer.training.config import TrainingConfig

DESCRIPTION = (
    "Train a tokenizer and a small model, and save both. SIGINT (Ctrl-C) and SIGTERM save a checkpoint "
    "before they end the run; a second signal ends it at once. An interrupted run resumes when the same "
    "command is given again. Under torchrun, several processes share each batch."
)
DEFAULT_SHAPE = dataclasses.replace(TINY, vocab_size=4000, dropout=0.1)
DEFAULT_TRAINING = {  # where it differs from the paper's
    "steps": None,  # the user gives a limit
    "batch_tokens": 2048,
    "warmup_steps": 1000,  # with 200, the encoder may collapse: see `benchmarks/collapse.py`
    "max_lr": 3e-3,
}
LIMITS = ("steps", "minutes", "patience")  # of training
METAVARS = {"patience": "EPOCHS", "clip_norm": "NORM", "accumulate": "BATCHES"}


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
    _add_model_options(command)
    _add_training_options(command)


def _add_run_options(command: argparse.ArgumentParser) -> None:
    run = command.add_argument_group("training run", "Where it starts, and what it saves.")
    run.add_argument(
        "--out",
        help="folder of the training run: it gets the model, and the state to resume from",
        type=path,
        required=True,
    )
    run.add_argument(
        "--start",
        help="folder of a trained model, or name of one in this package, to start from: with its shape, "
        "tokenizer and weights (default: new weights)",
        type=path,
        metavar="MODEL",
    )
    run.add_argument(
        "--keep",
        help="which model to keep: last, that of the last epoch; best, that of the epoch with the lowest "
        "validation loss (default: %(default)s)",
        choices=("last", "best"),
        default="last",
    )
    run.add_argument(
        "--average",
        help="average the weights of the last EPOCHS epochs, or with --keep best, of those up to the best "
        "one (default: %(default)s, no averaging)",
        type=int,
        default=1,
        metavar="EPOCHS",
    )
    run.add_argument(
        "--save-minutes",
        help="longest time between two checkpoints, in minutes (default: %(default)s)",
        type=float,
        default=3.0,
        metavar="MINUTES",
    )
    run.add_argument(
        "--seed", help="random seed, from 0 to 2**32 - 1 (default: %(default)s)", type=int, default=0
    )
    run.add_argument(
        "--config",
        help="JSON file with fields of TransformerConfig and TrainingConfig, such as "
        '{"model": {"max_length": 512}, "training": {"warmup_steps": 400}}; options override it '
        "(default: no file)",
        type=path,
        metavar="FILE",
    )


def _add_model_options(command: argparse.ArgumentParser) -> None:
    text = "With --start, the defaults are those of its model, except for --dropout."
    _add_fields(
        command.add_argument_group("model", text),
        TransformerConfig,
        dataclasses.asdict(DEFAULT_SHAPE),
        leave_out=ONLY_IN_FILE,
    )


def _add_training_options(command: argparse.ArgumentParser) -> None:
    limits = command.add_argument_group("limits", "The run ends at the first; give --minutes or --steps.")
    others = tuple(field.name for field in dataclasses.fields(TrainingConfig) if field.name not in LIMITS)
    _add_fields(limits, TrainingConfig, DEFAULT_TRAINING, leave_out=others)
    training = command.add_argument_group("training")
    _add_fields(training, TrainingConfig, DEFAULT_TRAINING, leave_out=LIMITS)
    training.add_argument(
        "--bpe-dropout",
        help="BPE dropout: probability of leaving out a merge of the tokenizer (default: %(default)s)",
        type=float,
        default=0.0,
        metavar="P",
    )
    training.add_argument(
        "--bidirectional",
        help="number of initial epochs that also train the reverse direction (default: %(default)s)",
        type=int,
        default=0,
        metavar="EPOCHS",
    )
    add_device_option(training, "train")


def _add_fields(
    group: "argparse._ArgumentGroup",
    config: type,
    defaults: Mapping[str, object],
    *,
    leave_out: tuple[str, ...] = (),
) -> None:
    """Add an option for each field of a config, with the type of the field and the text in the docstring."""
    kinds, texts = get_type_hints(config), _attributes(config)
    for field in dataclasses.fields(config):
        if field.name not in leave_out:
            text = _help(texts[field.name], defaults.get(field.name, field.default))
            kind = _kind(kinds[field.name])
            if field.name in METAVARS:
                kind["metavar"] = METAVARS[field.name]
            group.add_argument(option_name(field.name), help=text, **kind)


def _attributes(config: type) -> dict[str, str]:
    """Return what the docstring of a class says about each of its attributes; `python -OO` leaves a name."""
    section = (inspect.getdoc(config) or "").partition("\nAttributes:\n")[2]
    found = re.findall(r"^    (\w+): (.+(?:\n {8}.+)*)", section, re.MULTILINE)
    names = {field.name: field.name for field in dataclasses.fields(config)}
    return {name: " ".join(text.split()) for name, text in found} or names


def _help(text: str, default: object) -> str:
    """Return the first sentence of a text, with the default, which may be what the text says of `None`."""
    sentence, _, none = text.partition(". ")[0].rstrip(".").partition("; `None` means ")
    sentence = re.sub("^[A-Z](?![A-Z])", lambda first: first[0].lower(), sentence)
    words = none if default is None else {"True": "on", "False": "off"}.get(str(default), default)
    return re.sub('[`"]', "", f"{sentence} (default: {words})").replace("%", "%%")


def _kind(kind: Any) -> dict[str, Any]:
    """Return how argparse reads a value of the type of a field."""
    for one in (kind, *get_args(kind)):
        if get_origin(one) is Literal:
            return {"choices": get_args(one)}
    (kind,) = {*(get_args(kind) or (kind,))} - {NoneType}
    return {"action": argparse.BooleanOptionalAction} if kind is bool else {"type": kind}
