"""The options of `grade`, and its help."""

import argparse

from annotated_transformer.commands.options import describe_command, path


def add_grade_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `grade`."""
    describe_command(
        command,
        "Execute readers' notebooks, each in a copy of its folder, and print which of their answers to the "
        "exercises are right. The status is 0 if all could be graded, whether or not the answers are right. "
        "All cells run, with your rights: grade the work of people you do not trust in a container.",
        "_lab/04_self_attention.ipynb",
        "*.ipynb --jobs 2 --csv grades.csv",
    )
    command.add_argument("notebooks", type=path, nargs="+", metavar="NOTEBOOK", help="a reader's chapter")
    command.add_argument(
        "--csv", type=path, metavar="FILE", help="write the table as CSV to FILE (-: to stdout)"
    )
    command.add_argument("--jobs", type=int, default=1, metavar="N", help="notebooks at once (default: 1)")
    limit = "time for a cell, which is then interrupted (default: %(default)g)"
    command.add_argument("--timeout", type=float, default=120.0, metavar="SECONDS", help=limit)
