"""Options that commands share, and what they describe: the corpus, the device and the model."""

import argparse
import os
from dataclasses import fields
from pathlib import Path

import torch

from annotated_transformer.checkpointing.checkpoint import pretrained_names
from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.messages import Message, in_python
from annotated_transformer.text.corpus import DATA_VARIABLE, READERS, VALIDATION
from annotated_transformer.training.config import TrainingConfig

DEVICES = ("cpu", "cuda")
OTHER_NAMES = {  # arguments whose option has a different name
    "beam_size": "beam",
    "compiled": "compile",
    "folder": "data",
    "tau": "temperature",
    "k": "top_k",
    "p": "top_p",
}
SETTINGS = {field.name for config in (TransformerConfig, TrainingConfig) for field in fields(config)}


def path(text: str) -> Path:
    """Return a path from the command line.

    Raises:
        argparse.ArgumentTypeError: If it is empty, for example because a shell variable is not set.
    """
    if not text:
        raise argparse.ArgumentTypeError("'' is not a path; give the name of a file or folder")
    return Path(text)


def option_name(name: str) -> str:
    """Return the option that sets a field, such as `--max-lr`."""
    return f"--{name.replace('_', '-')}"


def name_options(message: object, options: argparse.Namespace) -> str:
    """Return a message in which arguments are named as the options that set them.

    `max_lr=3.0` becomes `--max-lr 3.0`, `steps=None` becomes `no --steps`, and `max_lr` becomes
    `--max-lr`. A value that comes from the file of `--config` keeps its name, and a setting that only this
    file can change is followed by "(see --config)".
    """
    settings_file = getattr(options, "config", None)

    def in_options(name: str, *value: object) -> str:
        dest = OTHER_NAMES.get(name, name)
        if not hasattr(options, dest):
            see = " (see --config)" * (name in SETTINGS and hasattr(options, "config"))
            return f"{in_python(name, *value)}{see}"
        option = option_name(dest)
        if value == (None,):
            return f"no {option}"
        if value and settings_file is not None and getattr(options, dest) is None:
            return in_python(name, *value)
        return " ".join([option, *(str(one) for one in value if one is not True)])

    return message.named(in_options) if isinstance(message, Message) else str(message)


def add_corpus_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `load_corpus`."""
    command.add_argument(
        "--corpus",
        choices=READERS,
        default="files",
        help="files: your own sentences; toy: sentences of a toy language, made on the fly; multi30k: "
        "captions of photos; tatoeba: short everyday sentences (default: %(default)s)",
    )
    command.add_argument(
        "--data",
        type=path,
        help=f"folder of the corpus, or its parent (default: the environment variable {DATA_VARIABLE}); "
        "for files, it contains SPLIT.LANGUAGE or SPLIT.LANGUAGE.gz, such as train.en; if train is the only "
        "split, val and test are split off, about 5%% of the pairs each; if there are others, the validation "
        f"loss is that of {' or '.join(VALIDATION)}",
    )
    command.add_argument("--source", default="en", help="language to translate from (default: %(default)s)")
    command.add_argument("--target", default="de", help="language to translate into (default: %(default)s)")


def take_device(name: str | None) -> torch.device:
    """Return the device `name` and make it current; the default is CUDA if available, otherwise the CPU.

    Under torchrun, each process of a machine uses its own CUDA device.

    Raises:
        ValueError: If there is no such device, or not one for each process. Every process raises it, because
            one that did not would wait for the others.
    """
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "cpu" or (name is None and there == 0):
        return torch.device("cpu")
    if there == 0:
        raise ValueError(
            f"--device cuda, but PyTorch {torch.__version__} finds no CUDA device; "
            f"give --device cpu, or install the CUDA build of PyTorch and the driver"
        )
    rank = int(os.environ.get("LOCAL_RANK", "0"))
    processes = max(rank + 1, int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    if processes > there:
        raise ValueError(
            f"{processes} processes of this machine need a CUDA device each, and PyTorch finds {there}; "
            f"give torchrun --nproc-per-node={there}, or --device cpu"
        )
    torch.cuda.set_device(rank)
    return torch.device("cuda", rank)


def add_model_options(command: argparse.ArgumentParser, *, default: str) -> None:
    """Add the options for the model, the user's own or one that comes with the package, and its device.

    `default` describes the default in the help.
    """
    names = ", ".join(pretrained_names())
    choice = command.add_mutually_exclusive_group()
    choice.add_argument(
        "--model", type=path, help="folder of a model that train wrote (default: the one of --pretrained)"
    )
    choice.add_argument("--pretrained", help=f"name of a model in this package: {names} (default: {default})")
    command.add_argument(
        "--device",
        choices=DEVICES,
        default="cpu",
        help="device to translate on (default: %(default)s, even if cuda is available)",
    )


def load_translator(options: argparse.Namespace, *, default: str) -> Translator:
    """Return a translator on its device, with the model that the options name or the package's `default`."""
    device = take_device(options.device)
    if options.model is not None:
        translator = Translator.from_folder(options.model)
    else:
        translator = Translator.from_pretrained(default if options.pretrained is None else options.pretrained)
    translator.model.to(device)
    return translator
