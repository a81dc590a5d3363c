"""`grade`: grade the exercises in readers' notebooks, as a table or as CSV."""

import argparse
import csv
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from io import StringIO
from pathlib import Path
from textwrap import shorten

from annotated_transformer.commands.output import check_output_file, open_lines, print_line
from annotated_transformer.extras import extra

HEAD = ("notebook", "exercise", "passed", "message")
STATES = ("yes", "no", "empty", "not graded")
WIDTHS = (8, max(map(len, STATES)))  # of the columns "exercise" and "passed"
LONGEST = 300  # characters of a message

Row = tuple[str, str, str, str]


def grade_command(options: argparse.Namespace) -> None:
    """Run the answers to the exercises in readers' notebooks, and print which are right."""
    if not (options.timeout > 0 and math.isfinite(options.timeout)):
        raise ValueError(f"--timeout {options.timeout:g} is not a time; give a number of seconds above 0")
    to_stdout = options.csv == Path("-")
    if options.csv and not to_stdout:
        check_output_file("--csv", options.csv)
    several = max(len(str(notebook)) for notebook in options.notebooks) * (len(options.notebooks) > 1)
    failed = []
    with open_lines(None if to_stdout else options.csv) if options.csv else nullcontext() as write:
        _put(HEAD, write, several, table=not to_stdout)
        for notebook in options.notebooks:
            for row in grade_notebook(notebook, options.timeout):
                _put(row, write, several, table=not to_stdout)
                if not row[1]:
                    failed.append(str(notebook))
    if failed:
        raise ValueError(
            f"{len(failed)} of {len(options.notebooks)} notebooks could not be graded: {', '.join(failed)}"
        )


def grade_notebook(notebook: Path, seconds: float) -> Iterator[Row]:
    """Yield a row for each exercise of a notebook, or one without an exercise if it cannot be graded."""
    try:
        with extra("notebooks", "grading"):
            from annotated_transformer.book.grading.execution import grade
            from annotated_transformer.book.grading.notebook import read_exercises
    except ModuleNotFoundError as error:
        raise ValueError(str(error)) from error
    name = str(notebook)
    try:
        exercises = read_exercises(notebook)
    except (ValueError, OSError) as error:
        yield name, "", "not graded", f"{getattr(error, 'strerror', None) or error}."
        return
    for exercise in exercises:
        if not exercise.check:
            yield name, exercise.id, "not graded", "it has no check."
        elif exercise.untouched:
            yield name, exercise.id, "empty", ""
        else:
            passed, message = grade(exercise, notebook.parent, seconds)
            yield name, exercise.id, "yes" if passed else "no", message


def _put(row: Sequence[str], write: Callable[[str], None] | None, widest: int, *, table: bool) -> None:
    """Write a row as CSV, if there is a file for it, and into the table."""
    notebook, exercise, passed, message = row
    printable = "".join(c if c.isprintable() else " " for c in message)
    message = shorten(printable, LONGEST, placeholder=" …")
    if write:
        line = StringIO()
        csv.writer(line, lineterminator="").writerow((notebook, exercise, passed, message))
        write(line.getvalue())
    if table:
        start = f"{notebook:{widest}}  " if widest else ""
        print_line(f"{start}{exercise:{WIDTHS[0]}}  {passed:{WIDTHS[1]}}  {message}".rstrip())
