"""The options of `grade`, and its help."""

import argparse

from annotated_transformer.commands.options import describe_command, path


def add_grade_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `grade`."""
    describe_command(
        command,
        "Run the answers to the exercises in readers' notebooks, and print which are right. The status is 0 "
        "if all notebooks could be graded, whether or not their answers are right. Answers run with your "
        "rights, each in its own process: grade the work of people you do not trust in a container.",
        "_lab/04_self_attention.ipynb",
        "*.ipynb --csv grades.csv",
    )
    command.add_argument("notebooks", type=path, nargs="+", metavar="NOTEBOOK", help="a reader's chapter")
    command.add_argument(
        "--csv", type=path, metavar="FILE", help="write the table as CSV to FILE (-: to the standard output)"
    )
    command.add_argument(
        "--timeout",
        type=float,
        default=120.0,
        metavar="SECONDS",
        help="time for an exercise and the cells that it needs (default: %(default)g)",
    )
