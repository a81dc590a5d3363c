"""`grade`: its options, and `grade_command`, which grades readers' notebooks, and what they built."""

import argparse
import csv
import math
import os
import random
from contextlib import nullcontext
from pathlib import Path
from textwrap import shorten
from types import SimpleNamespace
from typing import Annotated

from annotated_transformer.commands.arguments import Group, Option
from annotated_transformer.commands.options.process import THREADS
from annotated_transformer.commands.output import check_file, open_lines, print_line
from annotated_transformer.extras import extra

STDOUT = Path("-")


class GradeOptions:
    """Notebooks.

    Attributes:
        notebooks: A reader's chapter, or a file in which a reader builds a Transformer.
        csv: Write the table as CSV to this file (-: to stdout); `None` means no file.
        jobs: Notebooks at once.
        timeout: Seconds for a cell, which is then interrupted, and for a call of a file's code.
        seed: What the checks of files draw from, the same for all; `None` means a new one, which is shown.
    """

    notebooks: Annotated[tuple[Path, ...], Option(flag="")]
    csv: Path | None = None
    jobs: int = 1
    timeout: float = 120.0
    seed: int | None = None


DESCRIPTION = (
    "Execute the answers to the exercises in readers' notebooks, with the cells that they need, in a copy of "
    "each notebook's folder, and print which are right. Of a file (*.py) that a reader wrote with `build`, "
    "each step is judged. The status is 0 if all could be graded, right or wrong. Code runs with your "
    "rights: grade the work of people you do not trust in a container."
)
EXAMPLES = ("_lab/04_self_attention.ipynb", "*.py --seed 7", "*.ipynb --jobs 2 --csv grades.csv")
GROUPS = (Group(GradeOptions), THREADS)


def grade_command(options: argparse.Namespace) -> None:
    """Execute readers' notebooks, and print which of their answers to the exercises are right."""
    import asyncio  # slow to import

    if not (options.timeout > 0 and math.isfinite(options.timeout)):
        raise ValueError(f"timeout={options.timeout:g} is not a time; give a number of seconds above 0")
    if options.jobs < 1:
        raise ValueError(f"jobs={options.jobs} executes no notebook; give 1 or more")
    if options.csv and options.csv.suffix == ".ipynb":
        raise ValueError(f"--csv {options.csv} would overwrite a notebook; give another file, or -")
    if options.csv and options.csv != STDOUT:
        check_file("--csv", options.csv, written=True)
    if failed := asyncio.run(_grade_all(options)):
        raise ValueError(
            f"{len(failed)} of {len(options.notebooks)} notebooks could not be graded: {', '.join(failed)}"
        )


async def _grade_all(options: argparse.Namespace) -> list[str]:
    """Print the rows of all notebooks in their order, and return which could not be graded, or not wholly."""
    import asyncio

    with extra("grade", "grading"):
        from annotated_transformer.book.grading import grade
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # of what a signal cancels
    free = asyncio.Semaphore(options.jobs)

    seed = random.randrange(10**6) if options.seed is None else options.seed

    async def graded(notebook: Path) -> list[tuple[str, str, str]]:
        async with free:
            try:
                if notebook.suffix == ".py":
                    return await asyncio.to_thread(_steps, notebook, options.timeout, seed)
                return await grade(notebook, options.timeout)
            except Exception as error:  # the other notebooks are graded, whatever it is
                kind = "" if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: "
                return [("", "not graded", f"{kind}{getattr(error, 'strerror', None) or error}")]

    names = [os.fsencode(notebook).decode(errors="backslashreplace") for notebook in options.notebooks]
    widest, to_stdout, failed = max(map(len, names)), options.csv == STDOUT, []
    with open_lines(None if to_stdout else options.csv) if options.csv else nullcontext() as write:
        table = csv.writer(SimpleNamespace(write=write), lineterminator="") if write else None
        tasks = [asyncio.ensure_future(graded(notebook)) for notebook in options.notebooks]
        for name, task in zip(["notebook", *names], [None, *tasks], strict=True):
            rows = await task if task else [("exercise", "passed", "message")]
            failed += [name] * any(passed == "not graded" for _, passed, _ in rows)
            if rows[0][0] and task:
                right = sum(passed == "yes" for _, passed, _ in rows)
                drawn = f"seed {seed}" if name.endswith(".py") else ""
                rows.append(("total", f"{right} of {len(rows)}", drawn))
            for row in rows:
                exercise, passed, message = map(_one_line, row)
                if table:
                    table.writerow(map(_as_text, (name, exercise, passed, message)))
                if not to_stdout:
                    start = f"{name:{widest}}  " if len(names) > 1 else ""
                    print_line(f"{start}{exercise:8}  {passed:10}  {message}".rstrip())
    return failed


def _steps(path: Path, seconds: float, seed: int) -> list[tuple[str, str, str]]:
    """Return the rows of a file in which a reader builds a Transformer."""
    from annotated_transformer.book.from_scratch.checking import graded
    from annotated_transformer.book.from_scratch.code import EMPTY

    path.read_bytes()
    return [
        (number, "empty", "") if EMPTY in said else (number, "yes" if right else "no", said)
        for number, right, said in graded(path, seconds, seed)
    ]


def _one_line(text: str) -> str:
    return shorten("".join(c if c.isprintable() else " " for c in text), 300, placeholder=" …")


def _as_text(cell: str) -> str:
    """Return what a spreadsheet does not compute."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
