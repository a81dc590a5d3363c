"""The options of `export`, and its help."""

import argparse

from annotated_transformer.commands.options import describe_command, path
from annotated_transformer.interop.formats import DTYPES, FORMATS, WRITTEN


def add_export_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `export`."""
    describe_command(
        command,
        "Write a model and its tokenizer in the format of another library. The model card travels along. "
        "A model with a part that the format does not have is refused.",
        "--pretrained en-de --to marian --out en-de-marian",
        "--model my_model --to marian --out my_marian --dtype float16",
    )
    choice = command.add_argument_group("model").add_mutually_exclusive_group(required=True)
    choice.add_argument("--model", type=path, metavar="FOLDER", help="folder of a model that train wrote")
    choice.add_argument(
        "--pretrained", metavar="NAME", help="name of a model in this package: de-en or en-de"
    )
    result = command.add_argument_group("result")
    result.add_argument(
        "--to",
        choices=WRITTEN,
        required=True,
        help="format: " + "; ".join(f"{name}, for {FORMATS[name].about}" for name in WRITTEN),
    )
    result.add_argument(
        "--out", type=path, required=True, metavar="DIR", help="folder to write to, new or empty"
    )
    result.add_argument(
        "--dtype", choices=DTYPES, help="type of the weights (default: that of the model, or of the format)"
    )
