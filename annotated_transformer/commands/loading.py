"""What the options that commands share describe: a corpus, a device, and a model."""

import argparse
import os
from pathlib import Path

import torch

from annotated_transformer.checkpointing.checkpoint import pretrained_folder, read_languages
from annotated_transformer.commands.options import LANGUAGES, option_name
from annotated_transformer.commands.output import check_input_file
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.text.corpus import CORPORA, OWN_FILES, Corpus, load_corpus, load_files
from annotated_transformer.text.pair_files import PairFiles, Table, TwoFiles
from annotated_transformer.text.sentence_pairs import Languages

SIDES = ("source", "target", "tsv")


def read_corpus(options: argparse.Namespace) -> Corpus:
    """Return the corpus that the options of `add_corpus_options` describe.

    Its languages are those of `chosen_languages`.

    Raises:
        ValueError: If an option is missing or has no effect, or if a file has the wrong content.
        FileNotFoundError: If a file is missing.
    """
    files, languages = own_files(options), chosen_languages(options)
    if languages is not None and not files:
        return load_corpus(options.corpus or OWN_FILES, folder=options.data, **languages._asdict())
    if "train" not in files:
        split = next(iter(files))
        given = next(name for name in SIDES if getattr(options, f"{split}_{name}") is not None)
        raise ValueError(
            f"--{split}-{given} is given without training files; give --train-source and --train-target, "
            f"or --train-tsv"
        )
    return load_files(files, languages=languages)


def chosen_languages(options: argparse.Namespace) -> Languages | None:
    """Return the languages of `--source` and `--target`, or those of the corpus, or the defaults.

    Files that options name one by one may be in any languages, so their languages are known only if both
    are given.
    """
    given = options.source, options.target
    if None in given and own_files(options):
        return None
    defaults = CORPORA[options.corpus or OWN_FILES].languages or LANGUAGES
    return Languages(*(own or default for own, default in zip(given, defaults, strict=True)))


def own_files(options: argparse.Namespace) -> dict[str, PairFiles]:
    """Return the user's own files of each split; the dictionary is empty if no option names any.

    Raises:
        ValueError: If an option is missing or has no effect.
        FileNotFoundError: If a file is missing.
    """
    splits = [name.removesuffix("_tsv") for name in vars(options) if name.endswith("_tsv")]
    found = {split: _files_of_split(options, split) for split in splits}
    files = {split: place for split, place in found.items() if place is not None}
    if options.columns is not None and not any(isinstance(place, Table) for place in files.values()):
        raise ValueError("--columns has an effect only on TSV files; give --train-tsv, or leave it out")
    for name in ("corpus", "data"):
        if files and getattr(options, name) is not None:
            raise ValueError(
                f"{option_name(name)} has no effect on files that options name one by one; leave it out, or "
                f"leave out these files"
            )
    return files


def _files_of_split(options: argparse.Namespace, split: str) -> PairFiles | None:
    given: dict[str, Path] = {
        f"--{split}-{side}": file for side in SIDES if (file := getattr(options, f"{split}_{side}"))
    }
    source, target, table = (f"--{split}-{side}" for side in SIDES)
    if table in given and len(given) > 1:
        other = next(option for option in given if option != table)
        raise ValueError(f"{other} and {table} are both given; give one file with both sides, or two files")
    for option, other in ((source, target), (target, source)):
        if option in given and other not in given:
            raise ValueError(f"{option} is given without {other}; give both, or {table}")
    for option, file in given.items():
        check_input_file(option, file)
    if table in given:
        return Table(given[table], options.columns or (1, 2))
    if not given:
        return None
    if given[source].samefile(given[target]):
        raise ValueError(f"{source} and {target} are both {given[source]}; give two files")
    return TwoFiles(given[source], given[target])


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


def describe_device(device: torch.device) -> str:
    """Return the name of a device for the log."""
    return f"{device} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else str(device)


def load_translator(options: argparse.Namespace, *, default: str) -> Translator:
    """Return a translator on its device, with the model that the options name or the package's `default`."""
    device, fast = take_device(options.device), bool(options.fast)
    if options.model is not None:
        return Translator.from_folder(options.model, device=device, fast=fast)
    name = default if options.pretrained is None else options.pretrained
    return Translator.from_pretrained(name, device=device, fast=fast)


def known_languages(options: argparse.Namespace, *, default: str | None = None) -> Languages | None:
    """Return the languages of the model that the options name, or None if it is not there or has none.

    Without such options, it is the package's model `default`, if there is one.

    Raises:
        ValueError: If a given language differs from that of the model.
    """
    name = default if options.pretrained is None else options.pretrained
    if options.model is not None:
        known = read_languages(options.model) if options.model.is_dir() else None
    else:
        known = None if name is None else read_languages(pretrained_folder(name))
    if known is None:
        return None
    for side, language in known._asdict().items():
        if (given := getattr(options, side, None)) not in (None, language):
            raise ValueError(
                f"--{side} {given}, but the model {options.model or name} translates from {known.source} to "
                f"{known.target}; leave --{side} out, or give another model"
            )
    return known
