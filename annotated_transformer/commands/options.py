"""Options that commands share, and what they describe: the corpus, the device and the model."""

import argparse
import os
import re
from dataclasses import fields
from pathlib import Path

import torch

from annotated_transformer.checkpointing.checkpoint import pretrained_names
from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.text.corpus import DATA_VARIABLE, READERS
from annotated_transformer.training.config import TrainingConfig

DEVICES = ("cpu", "cuda")
OTHER_NAMES = {  # fields whose option has a different name
    "beam_size": "beam",
    "compiled": "compile",
    "folder": "data",
    "tau": "temperature",
    "k": "top_k",
    "p": "top_p",
}
SETTINGS = {field.name for config in (TransformerConfig, TrainingConfig) for field in fields(config)}
QUOTED = r"""(?<!\w)(?:'[^']*'|"[^"]*")(?!\w)"""
FIELD = r"""(?x)
    (?<![\w/.-])(?P<field>[a-z]\w*)
    (?:=(?P<value>'[^']*'|[^\s,;:)]+))?
    (?![\w/-]|\.\w)
    (?P<changed>(?=[ ]was[ ]))?  # from one value to another
"""


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


def name_options(message: str, options: argparse.Namespace) -> str:
    """Replace the names of fields in an error message by the options that set them.

    `max_lr=3.0` becomes `--max-lr 3.0`, `steps=None` becomes `no --steps`, and `max_lr` becomes
    `--max-lr`. Quoted text stays as it is, and so does a value that comes from the file of `--config`.
    A field that only this file can set is followed by "(see --config)".
    """
    names = {name: option_name(name) for name in vars(options)}
    names |= {field: names[option] for field, option in OTHER_NAMES.items() if option in names}

    def in_file(option: str) -> bool:
        given = getattr(options, option.removeprefix("--").replace("-", "_"))
        return given is None and getattr(options, "config", None) is not None

    def option(match: re.Match[str]) -> str:
        field, value = match["field"], match["value"]
        if field in SETTINGS - names.keys() and hasattr(options, "config") and (value or "_" in field):
            return f"{match[0]} (see --config)"
        if field not in names or (value not in (None, "None") and in_file(names[field])):
            return match[0]
        if value is None and match["changed"] is None and "_" not in field:  # "steps" may be a word
            return match[0]
        if value is None or value == "None":
            return names[field] if value is None else f"no {names[field]}"
        return f"{names[field]} {value.strip(chr(39))}"

    return re.sub(f"{FIELD}|{QUOTED}", option, message)


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
        "split, val and test are split off, about 5%% of the pairs each",
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
