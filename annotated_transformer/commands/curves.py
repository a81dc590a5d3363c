"""`curves`: plot the metrics of a training run to a file, and describe the plot in words."""

import argparse
from html import escape
from io import BytesIO

from annotated_transformer.commands.output import log, print_line, write_file
from annotated_transformer.plotting.palette import PAPER


def curves_command(options: argparse.Namespace) -> None:
    """Plot loss, learning rate, gradient norm and health of a training run, and describe the plot."""
    from annotated_transformer.plotting import (  # slow to import
        describe_curves,
        draw_curves,
        read_reports,
        read_schedule,
        to_svg,
    )

    ending = options.to.suffix.lower().removeprefix(".") or "svg"
    if ending not in ("svg", "png", "pdf"):
        raise ValueError(f"--to {options.to} ends in .{ending}; choose .svg, .png or .pdf")
    reports, schedule = read_reports(options.folder, warn=log), read_schedule(options.folder)
    figure, words = draw_curves(reports, schedule), describe_curves(reports, schedule)
    image = BytesIO()
    if ending == "svg":
        drawing = to_svg(figure).replace("<svg ", f'<svg role="img" aria-label="{escape(words)}" ', 1)
        image.write(drawing.encode())
    else:
        figure.savefig(image, format=ending, facecolor=PAPER)
    write_file(options.to, image.getvalue())
    print_line(words)
