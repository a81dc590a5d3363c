"""Options that several commands share: which model, which corpus, which search."""

import argparse
from pathlib import Path
from typing import TypedDict

from annotated_transformer.decoding.length_penalty import GnmtLength, LengthPenalty, PlainLength
from annotated_transformer.decoding.pretrained import pretrained_names
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.text.corpus import READERS
from annotated_transformer.text.published_corpora import DATA_VARIABLE

LENGTH_PENALTIES: dict[str, type[GnmtLength | PlainLength]] = {"gnmt": GnmtLength, "plain": PlainLength}


class SearchOptions(TypedDict):
    """What `Translator.translate` takes of the command line."""

    beam_size: int
    length_penalty: LengthPenalty


def add_corpus_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `load_corpus`."""
    command.add_argument(
        "--corpus", choices=READERS, default="files", help="which corpus (default: %(default)s)"
    )
    command.add_argument(
        "--data",
        type=Path,
        help=f"folder of the corpus, or its parent (default: the environment variable {DATA_VARIABLE}); "
        "for files, it holds SPLIT.LANGUAGE or SPLIT.LANGUAGE.gz, such as train.en",
    )
    command.add_argument("--source", default="en", help="language to translate from (default: %(default)s)")
    command.add_argument("--target", default="de", help="language to translate into (default: %(default)s)")


def add_model_options(command: argparse.ArgumentParser, *, default: str) -> None:
    """Add the choice between a model of the user's and one that comes with the package.

    `default` says in the help which one that is where nothing is chosen.
    """
    there = ", ".join(pretrained_names())
    choice = command.add_mutually_exclusive_group()
    choice.add_argument("--model", type=Path, help="folder of a model that train wrote")
    choice.add_argument("--pretrained", help=f"name of a model in this package: {there} (default: {default})")


def load_translator(options: argparse.Namespace, *, default: str) -> Translator:
    """Return what translates with the model asked for, or with the package's of the name `default`."""
    if options.model is not None:
        return Translator.from_folder(options.model)
    return Translator.from_pretrained(options.pretrained or default)


def add_search_options(command: argparse.ArgumentParser) -> None:
    """Add the options of beam search."""
    command.add_argument(
        "--beam",
        type=int,
        default=1,
        help="hypotheses kept at each step (default: %(default)s, which is greedy search)",
    )
    command.add_argument(
        "--length-penalty",
        choices=LENGTH_PENALTIES,
        default="gnmt",
        help="kind of length penalty (default: %(default)s)",
    )
    command.add_argument(
        "--alpha",
        type=float,
        help="exponent of the length penalty (default: 0.6 for gnmt, as in the paper; 1 for plain)",
    )


def search_options(options: argparse.Namespace) -> SearchOptions:
    """Return the search asked for."""
    kind = LENGTH_PENALTIES[options.length_penalty]
    penalty = kind() if options.alpha is None else kind(options.alpha)
    return {"beam_size": options.beam, "length_penalty": penalty}
