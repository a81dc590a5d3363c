"""Grading of the exercises in a reader's notebook, of which those cells run that the answers need.

A chapter's notebook has the book's version, lists the ids of its exercises, and marks the code of each with
its id. What judges it comes from a table of the book: the call of its check, and a digest of the code as the
reader finds it.
"""

import asyncio
import hashlib
import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shutil import Error, copytree
from subprocess import DEVNULL
from tempfile import TemporaryDirectory
from textwrap import shorten
from typing import Any

import nbformat
import torch
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode

from annotated_transformer.book.exercises.needs import cells_for, names_of
from annotated_transformer.book.output import STRICT

TABLE = Path(__file__).parent / "exercises" / "table.json"
MOST = 100  # megabytes to copy
STOPPED = "✗ your code "
GRACE = 10.0  # seconds in which a cell has to end after it was interrupted


async def grade(path: Path, seconds: float) -> list[tuple[str, str, str]]:
    """Return the id, the state, and the message of each exercise of a notebook.

    A cell that takes longer than `seconds` is interrupted, and the next one runs.

    Raises:
        ValueError: It is no notebook with exercises, or there is too much in its folder.
        OSError: It cannot be read.
    """
    data = path.read_bytes()
    try:
        notebook = nbformat.reads(data.decode("utf-8-sig"), as_version=4)
        for cell in notebook.cells:
            cell.source, cell.outputs, cell.execution_count = cell.source + "", [], None
            cell.mark = dict(cell.metadata.get("exercise", {})).get("id")
        marks = [cell.mark for cell in notebook.cells if cell.mark]
        ids = [str(id) for id in notebook.metadata.get("exercises", []) or marks]
    except Exception as error:  # whatever is wrong with its JSON
        raise ValueError("it is not a notebook; give a file that Jupyter has saved, *.ipynb") from error
    chapters = json.loads(TABLE.read_text("utf-8"))
    version = chapters.pop("version")
    listed = {id: row for rows in chapters.values() if rows.keys() & {*ids} for id, row in rows.items()}
    if not listed:
        raise ValueError("it has no marked exercises; give a copy of a chapter of this book")
    answers = [_Answer(id, row, notebook) for id, row in listed.items()]
    rows = await _graded(path, notebook, answers, seconds)
    rows |= await _graded(path, notebook, [a for a in answers if a.widened(rows[a.id][1])], seconds)
    why = "the installed version of the book has no such exercise"
    rows |= {id: ("not graded", why) for id in ids if id not in listed}
    if (other := notebook.metadata.get("book_version", version)) != version:
        note = f"(The notebook is of version {other} of the book, and the checks are of version {version}.)"
        for id, (state, said) in rows.items():  # the exercise may have changed
            rows[id] = "not graded" if state == "no" else state, f"{said} {note}".lstrip()
    return [(id, *row) for id, row in rows.items()]


def starter_digest(source: str) -> str:
    """Return a digest of code without its white space."""
    return hashlib.sha256("".join(source.split()).encode(errors="replace")).hexdigest()[:16]


def _copy(notebook: Path, target: Path) -> None:
    """Copy a notebook and the readable files of its folder, but no other notebooks, and nothing hidden."""
    left = MOST * 2**20

    def unwanted(folder: str, names: list[str]) -> set[str]:
        nonlocal left
        out = {name for name in names if name.startswith(".") or name.endswith(".ipynb")} - {notebook.name}
        files = [file for name in names if name not in out and os.access(file := Path(folder, name), os.R_OK)]
        left -= sum(max(file.stat().st_size, 4096) for file in files)
        if left < 0:
            raise ValueError(f"its folder has more than {MOST} MB of files to copy; give it one of its own")
        return out

    with suppress(Error):  # what cannot be read
        copytree(notebook.parent, target, ignore=unwanted)
    target.chmod(0o700)  # that folder may be read-only


class _Client(NotebookClient):
    idle = False

    def process_message(self, msg: dict[str, Any], *rest: Any) -> NotebookNode | None:
        """Keep results and errors, not what a cell prints and draws, which may be much."""
        self.idle = msg["content"].get("execution_state") == "idle"
        kept = msg["msg_type"] in ("status", "execute_result", "error")
        return super().process_message(msg, *rest) if kept else None


async def _graded(
    path: Path, notebook: NotebookNode, answers: list["_Answer"], seconds: float
) -> dict[str, tuple[str, str]]:
    """Execute the cells that answers need, and return the state and the message of each, by its id.

    If a cell stops Python, the answers after it are executed without it.
    """
    for cell in notebook.cells:
        cell.outputs, cell.execution_count = [], None
    last, stopped = -1, ""
    if places := {place for answer in answers for place in answer.needs}:
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            _copy(path, Path(folder, "work"))
            last, stopped = await _execute(notebook, places, Path(folder), seconds)
    rows = {answer.id: answer.result(stopped, seconds) for answer in answers}
    rest = [a for a in answers if stopped and rows[a.id][1] == stopped and last not in a.places]
    needed = {answer.id for answer in rest if last in answer.needs}
    for answer in rest:
        answer.needs = [place for place in answer.needs if place != last]
    for id, (state, said) in (await _graded(path, notebook, rest, seconds) if rest else {}).items():
        rows[id] = state, said if state == "yes" or id not in needed else f"{said} ({stopped})"
    return rows


async def _execute(notebook: NotebookNode, places: set[int], folder: Path, seconds: float) -> tuple[int, str]:
    """Execute cells in `folder`/work, and return which stopped Python, and how, or -1 and ""."""
    client = _Client(notebook, allow_errors=True, timeout=None)
    manager = client.km = AsyncKernelManager(
        kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),  # this Python's, whichever the user has
        connection_file=str(folder / "kernel.json"),
    )
    environment = {**os.environ, STRICT: "", "IPYTHONDIR": str(folder / "ipython")}
    environment["OMP_NUM_THREADS"] = str(torch.get_num_threads())
    await client.async_start_new_kernel(cwd=folder / "work", env=environment, stdout=DEVNULL, stderr=DEVNULL)
    try:
        await client.async_start_new_kernel_client()
        for place in sorted(places):
            client.idle, cell = False, notebook.cells[place]
            run = asyncio.ensure_future(client.async_execute_cell(cell, place, place + 1))
            for limit in (seconds, GRACE):
                if not (await asyncio.wait({run}, timeout=limit))[0] and not client.idle:
                    await manager.interrupt_kernel()
            ended = run.done()
            run.cancel()
            try:
                await run
            except (DeadKernelError, asyncio.CancelledError):
                if client.idle:  # IPython sends no reply if it cannot compile a cell
                    continue
                said = "ended Python" if ended else "did not end, even when interrupted"
                return place, f"cell {place + 1} {said}: {shorten(cell.source, 60, placeholder=' …')}"
    finally:
        if client.kc:
            client.kc.stop_channels()
        with suppress(AttributeError, ProcessLookupError):  # Windows has no process groups
            os.killpg(vars(manager.provisioner)["pgid"], signal.SIGKILL)  # with all that it has started
        if manager.has_kernel:
            await manager.shutdown_kernel(now=True)
    return -1, ""


class _Answer:
    """A reader's answer to an exercise: the cells with its mark, and those that call its check."""

    def __init__(self, id: str, row: list[str], notebook: NotebookNode) -> None:
        self.id, self.cells = id, notebook.cells
        self.check, starter = row
        self.sources = [cell.source if cell.cell_type == "code" else "" for cell in self.cells]
        self.marked = [place for place, cell in enumerate(self.cells) if cell.mark == id]
        self.judged = [place for place, cell in enumerate(self.cells) if _judges(cell, self.check)]
        code = {place for place in self.marked if self.cells[place].cell_type == "code"}
        self.places = sorted(code.union(self.judged))
        self.empty = {starter_digest(self.sources[place]) for place in self.places} == {starter}
        self.needs = [] if self.empty else cells_for(self.sources, self.places)

    def widened(self, said: str) -> bool:
        """Need all cells before, too, if a message names what one that was skipped stores; return whether."""
        missing = {*re.findall(r"NameError: name '(\w+)'", said)}
        every = [place for place in range(max(self.places, default=0)) if self.sources[place]]
        if any(missing & names_of(self.sources[place]).stored for place in {*every} - {*self.needs}):
            self.needs = sorted({*every, *self.needs})
            return True
        return False

    def result(self, stopped: str, seconds: float) -> tuple[str, str]:
        """Return the state and the message after execution, which something may have stopped."""
        if not self.places:
            why = f"no cell calls {self.check}; copy the exercise's cell from the book's notebook"
            for place in self.marked:
                why = f"its cell, {place + 1}, has become {self.cells[place].cell_type}; make it code again"
            return "not graded", why
        if self.empty:
            return "empty", ""
        if self.cells[self.places[-1]].execution_count is None and stopped:
            return "not graded", stopped
        shown = [(place, text) for place in self.places for text in _shown(self.cells[place], seconds)]
        texts = [text for place, text in shown if place in self.judged or text.startswith(STOPPED)]
        verdicts = [text for text in texts if text.startswith(("✓ ", "✗ "))]
        if not verdicts:
            why = f"its check shows nothing; end the cell with {self.check}, without ; or %%capture"
            return "not graded", why
        said = " ".join(verdicts[-1][2:].removeprefix("Not yet: ").split())
        said = said.partition(" (The inputs of this ")[0]
        return ("yes", said) if verdicts[-1].startswith("✓") else self._wrong(said, seconds)

    def _wrong(self, said: str, seconds: float) -> tuple[str, str]:
        """Return the state and the message of a wrong answer, and the first error before it that it needs."""
        state = "not graded" if f"NameError: name '{self.check.partition('.')[0]}'" in said else "no"
        for place in self.needs[: self.needs.index(self.places[0])]:
            errors = [text for text in _shown(self.cells[place], seconds) if text.startswith(STOPPED)]
            if errors and "raises-exception" not in self.cells[place].metadata.get("tags", []):
                return state, f"{said} (Cell {place + 1} {errors[0].removeprefix(STOPPED)})"
        return state, said


def _judges(cell: NotebookNode, check: str) -> bool:
    """Return whether a cell of the reader's calls this check, and no other one after it."""
    called = re.findall(r"\bcheck_\w+(?=\()", cell.source) if cell.cell_type == "code" else []
    return called[-1:] == re.findall(r"check_\w+", check) and "solution" not in cell.metadata.get("tags", [])


def _shown(cell: NotebookNode, seconds: float) -> Iterator[str]:
    """Yield the results of a cell as text, and what stopped it."""
    for output in cell.outputs:
        if output.output_type != "error":
            yield output.data.get("text/plain", "")
        elif output.ename == "KeyboardInterrupt":
            yield f"{STOPPED}was interrupted after {seconds:g} seconds: it does not end, or it is too slow"
        else:
            yield f"{STOPPED}stopped with {output.ename}: {output.evalue.partition(chr(10))[0]}"
