"""`curves`: its options, and `curves_command`, which plots the metrics of a training run."""

import argparse
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Annotated

from annotated_transformer.commands.arguments import Group, Option
from annotated_transformer.commands.options.process import THREADS
from annotated_transformer.commands.output import log, print_line, write_file


class CurvesOptions:
    """Plot.

    Attributes:
        folder: Folder of a training run, finished or not.
        to: Image to write, .svg, .png or .pdf; without an extension, an SVG image.
    """

    folder: Annotated[Path, Option(flag="")]
    to: Annotated[Path, Option(file="write")]


DESCRIPTION = "Plot loss, learning rate, gradient norm and health of a training run, and describe the plot."
EXAMPLES = ("my_model --to curves.svg",)
GROUPS = (Group(CurvesOptions), THREADS)


def curves_command(options: argparse.Namespace) -> None:
    """Plot loss, learning rate, gradient norm and health of a training run, and describe the plot."""
    from annotated_transformer import plotting  # slow to import
    from annotated_transformer.plotting.palette import PAPER

    ending = options.to.suffix.lower().removeprefix(".") or "svg"
    if ending not in ("svg", "png", "pdf"):
        raise ValueError(f"--to {options.to} ends in .{ending}; choose .svg, .png or .pdf")
    reports = plotting.read_reports(options.folder, warn=log)
    schedule = plotting.read_schedule(options.folder)
    figure, words = plotting.draw_curves(reports, schedule), plotting.describe_curves(reports, schedule)
    image = BytesIO()
    if ending == "svg":
        drawing = plotting.to_svg(figure).replace(
            "<svg ", f'<svg role="img" aria-label="{escape(words)}" ', 1
        )
        image.write(drawing.encode())
    else:
        figure.savefig(image, format=ending, facecolor=PAPER)
    write_file(options.to, image.getvalue())
    print_line(words)
