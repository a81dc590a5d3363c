"""Options that commands share, and what they describe: the corpus, device, model, search and sampling."""

import argparse
import os
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TypedDict

import torch
from torch import Tensor

from annotated_transformer.checkpointing.checkpoint import pretrained_names
from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding.length_penalty import GnmtLength, LengthPenalty, PlainLength
from annotated_transformer.decoding.sampling import Temperature, TopK, TopP
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.text.corpus import DATA_VARIABLE, READERS
from annotated_transformer.training.config import TrainingConfig, refuse_seed

DEVICES = ("cpu", "cuda")
LENGTH_PENALTIES: dict[str, type[GnmtLength | PlainLength]] = {"gnmt": GnmtLength, "plain": PlainLength}
PROCESSORS: dict[str, Callable[..., Callable[[Tensor], Tensor]]] = {  # in the order of their application
    "temperature": Temperature,
    "top_k": TopK,
    "top_p": TopP,
}
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


class SearchOptions(TypedDict):
    """The arguments of `Translator.translate` that the command line sets."""

    batch_size: int
    beam_size: int
    length_penalty: LengthPenalty | None


def path(text: str) -> Path:
    """Return a path from the command line.

    Raises:
        argparse.ArgumentTypeError: If it is empty, for example because a shell variable is not set.
    """
    if not text:
        raise argparse.ArgumentTypeError("'' is not a path; give the name of a file or folder")
    return Path(text)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def name_options(message: str, options: argparse.Namespace) -> str:
    """Replace the names of fields in an error message by the options that set them.

    `max_lr=3.0` becomes `--max-lr 3.0`, `steps=None` becomes `no --steps`, and `max_lr` becomes
    `--max-lr`. Quoted text stays as it is, and so does a value that comes from the file of `--config`.
    A field that only this file can set is followed by "(see --config)".
    """
    names = {name: _option(name) for name in vars(options)}
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
        ValueError: If there is no such device for this process.
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
    if rank >= there:
        raise ValueError(
            f"process {rank} of this machine has no CUDA device: there are {there}, one per process; "
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


def add_search_options(command: argparse.ArgumentParser) -> None:
    """Add the options of beam search, and the number of texts in a batch."""
    command.add_argument(
        "--batch-size",
        type=int,
        default=64,
        metavar="TEXTS",
        help="number of texts that are translated together (default: %(default)s)",
    )
    command.add_argument(
        "--beam",
        type=int,
        default=1,
        help="number of hypotheses in the beam (default: %(default)s, which is greedy search)",
    )
    command.add_argument(
        "--length-penalty",
        choices=LENGTH_PENALTIES,
        help="with --beam, the divisor of a log-probability: gnmt, the penalty of the paper, "
        "((5 + length) / 6) ** alpha; plain, length ** alpha (default: gnmt)",
    )
    command.add_argument(
        "--alpha",
        type=float,
        help="with --beam, exponent of the length penalty (default: 0.6 for gnmt, as in the paper; 1 for "
        "plain)",
    )


def search_options(options: argparse.Namespace) -> SearchOptions:
    """Return the search that the options describe.

    Raises:
        ValueError: If greedy search would ignore an option.
    """
    given = [name for name in ("length_penalty", "alpha") if getattr(options, name) is not None]
    greedy = options.beam == 1 and getattr(options, "nbest", None) is None
    if given and greedy:
        option = _option(given[0])
        raise ValueError(
            f"{option} has an effect only on beam search; give --beam 2 or more, or leave {option} out"
        )
    penalty: LengthPenalty | None = None
    if not greedy:
        kind = LENGTH_PENALTIES[options.length_penalty or "gnmt"]
        penalty = kind() if options.alpha is None else kind(options.alpha)
    return {"batch_size": options.batch_size, "beam_size": options.beam, "length_penalty": penalty}


def add_sampling_options(command: argparse.ArgumentParser) -> None:
    """Add the options of sampling."""
    command.add_argument(
        "--sample",
        action="store_true",
        help="sample each translation from the model's distribution (default: search for the best)",
    )
    command.add_argument(
        "--temperature",
        type=float,
        help="with --sample, divide the logits by this; below 1, likely tokens become more likely "
        "(default: 1)",
    )
    command.add_argument(
        "--top-k",
        type=int,
        metavar="TOKENS",
        help="with --sample, choose among this many most likely tokens (default: all)",
    )
    command.add_argument(
        "--top-p",
        type=float,
        metavar="P",
        help="with --sample, choose among the most likely tokens that together have this probability "
        "(default: 1, all)",
    )
    command.add_argument(
        "--seed",
        type=int,
        help="with --sample, random seed, from 0 to 2**32 - 1; samples also depend on --batch-size "
        "(default: 0)",
    )


def check_sampling_options(options: argparse.Namespace) -> None:
    """Refuse options that sampling ignores, and sampling options without `--sample`.

    Raises:
        ValueError: If there are such options.
    """
    given = [name for name in (*PROCESSORS, "seed") if getattr(options, name) is not None]
    if given and not options.sample:
        option = _option(given[0])
        raise ValueError(f"{option} has an effect only with --sample; add --sample, or leave {option} out")
    absent = {"nbest": None, "beam": 1, "length_penalty": None, "alpha": None}
    given = [name for name, value in absent.items() if getattr(options, name) != value]
    if given and options.sample:
        option = _option(given[0])
        raise ValueError(f"{option} is an option of search, and --sample draws; leave one of them out")


def sampler(options: argparse.Namespace, translator: Translator) -> Callable[[list[str]], list[str]]:
    """Return a function that samples a translation of each text with the given options."""
    values = {name: getattr(options, name) for name in PROCESSORS}
    processors = [PROCESSORS[name](value) for name, value in values.items() if value is not None]
    seed = 0 if options.seed is None else options.seed
    refuse_seed(seed)
    generator = torch.Generator(next(translator.model.parameters()).device).manual_seed(seed)
    return lambda texts: translator.sample(
        texts, generator=generator, logits_processors=processors, batch_size=options.batch_size
    )
