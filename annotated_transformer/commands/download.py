"""`download`: download a corpus and print its terms of use."""

import argparse

from annotated_transformer.commands.output import print_line
from annotated_transformer.text.corpus import published
from annotated_transformer.text.download import download


def download_command(options: argparse.Namespace) -> None:
    """Download a public corpus to a folder, and print its terms of use."""
    print_line(published()[options.corpus].terms)  # before the download begins
    folder = download(options.corpus, options.to)
    print_line(f"{options.corpus} is in {folder}; give --corpus {options.corpus} --data {options.to}")
