"""`curves`: plot the metrics of a training run to a file, and describe the plot in words."""

import argparse
from html import escape
from io import BytesIO

from annotated_transformer.commands.output import check_output_file, log, print_line, write_file
from annotated_transformer.plotting.palette import PAPER


def curves_command(options: argparse.Namespace) -> None:
    """Plot loss, learning rate, gradient norm and health of a training run, and describe the plot."""
    try:
        from annotated_transformer.plotting import (  # slow to import, and only needed here
            describe_curves,
            draw_curves,
            read_reports,
            read_schedule,
            to_svg,
        )
    except ModuleNotFoundError as error:
        raise ValueError(str(error)) from error
    ending = options.to.suffix.lower().removeprefix(".") or "svg"
    reports = read_reports(options.folder, warn=log)
    schedule = read_schedule(options.folder)
    figure = draw_curves(reports, schedule)
    if ending not in figure.canvas.get_supported_filetypes().keys() - {"pgf"}:  # LaTeX code
        raise ValueError(
            f"--to {options.to} ends in .{ending}, which is no image format; choose .svg, .png or .pdf"
        )
    words = describe_curves(reports, schedule)
    check_output_file("--to", options.to)
    image = BytesIO()
    try:
        if ending == "svg":
            drawing = to_svg(figure).replace("<svg ", f'<svg role="img" aria-label="{escape(words)}" ', 1)
            image.write(drawing.encode())
        else:
            figure.savefig(image, format=ending, facecolor=PAPER)
    except (RuntimeError, OSError, KeyError) as error:  # LaTeX, Ghostscript, or a codec of Pillow is missing
        raise ValueError(
            f"Matplotlib cannot write .{ending} here ({error}); choose .svg, .png or .pdf, or install what "
            f"is missing"
        ) from error
    write_file(options.to, image.getvalue())
    print_line(words)
