"""A command and its output, as a page shows them: run in the chapter, so never out of date."""

import shlex
from contextlib import chdir, redirect_stderr, redirect_stdout
from importlib.metadata import entry_points
from io import StringIO
from pathlib import Path

from annotated_transformer.book.output import CellOutput

PROGRAM = "annotated-transformer"


def run_command(line: str, folder: str | Path = ".") -> CellOutput:
    """Run a command line of this package in a folder, and return it with what it printed.

    What it writes to stderr (progress, times, terms) is left out: it differs from run to run.
    As in a shell, a line that ends with a backslash continues on the next one.

    Raises:
        ValueError: If it is a command of another program.
        RuntimeError: If it fails; the message contains what it wrote to stderr.
    """
    words = shlex.split(line.replace("\\\n", ""))
    if words[:1] != [PROGRAM]:
        raise ValueError(f"{line!r} is not a command of this package; begin with {PROGRAM}")
    (program,) = entry_points(group="console_scripts", name=PROGRAM)  # as a terminal finds it
    out, errors = StringIO(), StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(errors):
        status = program.load()(words[1:])
    if status != 0:
        raise RuntimeError(f"{line!r} ended with status {status}: {errors.getvalue().strip()}")
    printed = "\n".join([f"$ {line}", *out.getvalue().splitlines()])
    return CellOutput(f"```console\n{printed}\n```")
