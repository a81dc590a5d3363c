"""`curves`: the curves of a training, drawn into a file and told in words."""

import argparse
from html import escape
from pathlib import Path

from annotated_transformer.commands.output import print_line


def add_curves_options(command: argparse.ArgumentParser) -> None:
    """Add what `curves` takes."""
    command.add_argument("folder", type=Path, help="folder of a training run, finished or not")
    command.add_argument(
        "--to", type=Path, required=True, metavar="FILE", help="image to write, .svg, .png or .pdf"
    )


def curves_command(options: argparse.Namespace) -> None:
    """Draw how the loss of a training fell and what else was watched, and print what is to be seen."""
    try:
        from annotated_transformer.book.curves import (
            describe_curves,
            draw_curves,
            read_reports,
            read_schedule,
        )
        from annotated_transformer.book.figures import svg
        from annotated_transformer.book.palette import PAPER
    except ModuleNotFoundError as error:
        raise ValueError(
            f"drawing needs {error.name}, which is not installed; pip install 'annotated-transformer[book]'"
        ) from error
    reports = read_reports(options.folder)
    figure = draw_curves(reports, read_schedule(options.folder))
    words = describe_curves(reports)
    if options.to.suffix == ".svg":
        drawing = svg(figure).replace("<svg ", f'<svg role="img" aria-label="{escape(words)}" ', 1)
        options.to.write_text(drawing, encoding="utf-8")
    else:
        figure.savefig(options.to, facecolor=PAPER)
    print_line(words)
