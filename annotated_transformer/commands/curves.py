"""`curves`: plot the metrics of a training run to a file, and describe the plot in words."""

import argparse
from html import escape
from io import BytesIO

from annotated_transformer.commands.output import check_output_file, log, print_line, write_file


def curves_command(options: argparse.Namespace) -> None:
    """Plot loss, learning rate, gradient norm and health of a training run, and describe the plot."""
    try:
        from matplotlib.figure import Figure

        from annotated_transformer.book.drawing.curves import (
            describe_curves,
            draw_curves,
            read_reports,
            read_schedule,
        )
        from annotated_transformer.book.drawing.figures import svg
        from annotated_transformer.book.drawing.palette import PAPER
    except ModuleNotFoundError as error:
        raise ValueError(
            f"drawing needs {error.name}, which is not installed; run pip install '.[book]' in the folder "
            f"of this book"
        ) from error
    ending = options.to.suffix.lower().removeprefix(".") or "svg"
    if ending not in Figure().canvas.get_supported_filetypes().keys() - {"pgf"}:  # LaTeX code
        raise ValueError(
            f"--to {options.to} ends in .{ending}, which is no image format; choose .svg, .png or .pdf"
        )
    reports = read_reports(options.folder, warn=log)
    schedule = read_schedule(options.folder)
    figure = draw_curves(reports, schedule)
    words = describe_curves(reports, schedule)
    check_output_file("--to", options.to)
    image = BytesIO()
    try:
        if ending == "svg":
            drawing = svg(figure).replace("<svg ", f'<svg role="img" aria-label="{escape(words)}" ', 1)
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
