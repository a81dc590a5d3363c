"""What the options that commands share describe: a corpus, a device, and a model."""

import argparse

import torch

from annotated_transformer.checkpointing.checkpoint import pretrained_folder, read_languages
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.devices import take_device
from annotated_transformer.text.corpus import CORPORA, OWN_FILES, Corpus, load_corpus, load_files
from annotated_transformer.text.pair_files import PairFiles, Table, TwoFiles
from annotated_transformer.text.sentence_pairs import Languages

LANGUAGES = Languages("en", "de")  # the default


def read_corpus(options: argparse.Namespace) -> Corpus:
    """Return the corpus that the options describe; its languages are those of `chosen_languages`."""
    files, languages = own_files(options), chosen_languages(options)
    if languages is not None and not files:
        return load_corpus(options.corpus or OWN_FILES, folder=options.data, **languages._asdict())
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
    """Return the user's own files of each split; the dictionary is empty if no option names any."""
    files: dict[str, PairFiles] = {}
    for split in [name.removesuffix("_tsv") for name in vars(options) if name.endswith("_tsv")]:
        source, target, table = (getattr(options, f"{split}_{side}") for side in ("source", "target", "tsv"))
        if table:
            files[split] = Table(table, _columns(options.columns))
        elif source:
            if source.samefile(target):
                raise ValueError(f"--{split}-source and --{split}-target are both {source}; give two files")
            files[split] = TwoFiles(source, target)
    return files


def _columns(text: str | None) -> tuple[int | str, int | str]:
    names = [name.strip() for name in (text or "1,2").split(",")]
    if len(names) != 2 or not all(names):
        raise ValueError(f"--columns {text} are not two columns; give two, such as 1,2 or en,de")
    first, second = (int(name) if name.isdecimal() else name for name in names)
    return first, second


def describe_device(device: torch.device) -> str:
    """Return the name of a device for the log."""
    return f"{device} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else str(device)


def load_translator(options: argparse.Namespace, *, default: str) -> Translator:
    """Return a translator on its device, with the model that the options name or the package's `default`."""
    device = take_device("cpu" if getattr(options, "engine", None) else options.device)
    if options.model is not None:
        return Translator.from_folder(options.model, device=device, fast=options.fast)
    return Translator.from_pretrained(options.pretrained or default, device=device, fast=options.fast)


def known_languages(options: argparse.Namespace, *, default: str | None = None) -> Languages | None:
    """Return the languages of the model that the options name, or None if it is not there or has none.

    Without such options, it is the package's model `default`, if there is one.
    """
    name = options.pretrained or default
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
