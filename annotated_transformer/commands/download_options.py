"""The options of `download`, and its help."""

import argparse

from annotated_transformer.commands.options import describe_command, path
from annotated_transformer.text.corpus import published


def add_download_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `download`."""
    describe_command(
        command, "Download a public corpus to a folder, and print its terms of use.", "multi30k --to data"
    )
    command.add_argument("corpus", choices=published(), help="name of the corpus")
    command.add_argument(
        "--to", type=path, required=True, metavar="FOLDER", help="folder to download the corpus to"
    )
