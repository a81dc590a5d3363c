"""`download`: its options, and `download_command`, which downloads a corpus and prints its terms of use."""

import argparse
from pathlib import Path
from typing import Annotated

from annotated_transformer.commands.arguments import Group, Option
from annotated_transformer.commands.options.process import THREADS
from annotated_transformer.commands.output import print_line
from annotated_transformer.text.corpus import published


class DownloadOptions:
    """Download.

    Attributes:
        corpus: Name of the corpus.
        to: Folder to download the corpus to.
    """

    corpus: Annotated[str, Option(flag="", choices=published())]
    to: Path


DESCRIPTION = "Download a public corpus to a folder, and print its terms of use."
EXAMPLES = ("multi30k --to data",)
GROUPS = (Group(DownloadOptions), THREADS)


def download_command(options: argparse.Namespace) -> None:
    """Download a public corpus to a folder, and print its terms of use."""
    from annotated_transformer.text.download import download  # slow to import

    print_line(published()[options.corpus].terms)  # before the download begins
    folder = download(options.corpus, options.to)
    print_line(f"{options.corpus} is in {folder}; give --corpus {options.corpus} --data {options.to}")
