"""The options of `import`, and its help."""

import argparse

from annotated_transformer.commands.options import describe_command, path
from annotated_transformer.interop.formats import FORMATS, READ


def add_import_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `import`."""
    describe_command(
        command,
        "Read a model of another library, and save it as a model of this package, with its tokenizer and its "
        "model card. A model with a part that ours does not have is refused. Nothing is downloaded.",
        "--from marian opus-mt-en-de --out en-de",
    )
    command.add_argument("path", type=path, metavar="PATH", help="the folder of the model")
    command.add_argument(
        "--from",
        dest="format",
        choices=READ,
        required=True,
        help="format: " + "; ".join(f"{name}, of {FORMATS[name].about}" for name in READ),
    )
    command.add_argument(
        "--out", type=path, required=True, metavar="FOLDER", help="folder to write to, new or empty"
    )
