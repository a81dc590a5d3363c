"""The options of `curves`, and its help."""

import argparse

from annotated_transformer.commands.options import describe_command, path


def add_curves_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `curves`."""
    describe_command(
        command,
        "Plot loss, learning rate, gradient norm and health of a training run, and describe the plot.",
        "my_model --to curves.svg",
    )
    command.add_argument("folder", type=path, help="folder of a training run, finished or not")
    command.add_argument(
        "--to",
        type=path,
        required=True,
        metavar="FILE",
        help="image to write, .svg, .png or .pdf (without an extension: an SVG image)",
    )
