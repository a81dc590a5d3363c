"""`download`: fetch a corpus, and say under which terms it comes."""

import argparse
from pathlib import Path

from annotated_transformer.commands.output import print_line
from annotated_transformer.text.download import download
from annotated_transformer.text.published_corpora import SOURCES


def add_download_options(command: argparse.ArgumentParser) -> None:
    """Add what `download` takes."""
    command.add_argument("corpus", choices=SOURCES, help="which public corpus")
    command.add_argument(
        "--to", type=Path, required=True, metavar="FOLDER", help="folder to put the corpus in"
    )


def download_command(options: argparse.Namespace) -> None:
    """Fetch a public corpus into a folder, and print the terms under which it comes."""
    print_line(SOURCES[options.corpus].terms)  # before the first byte of it
    folder = download(options.corpus, options.to)
    print_line(f"{folder} has {options.corpus}; give --corpus {options.corpus} --data {options.to}")
