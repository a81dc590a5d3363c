"""Grading of the exercises in a reader's notebook, which is executed whole, as its reader would.

A chapter's notebook lists the ids of its exercises, marks the text of each with its id, and its code with the
same id, a digest of the code as the reader finds it, and the call of its check.
"""

import asyncio
import hashlib
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

from annotated_transformer.book.cells.check import STRICT

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
            cell.mark = dict(cell.metadata.get("exercise", {}))
        checks = {cell.mark["id"]: cell.mark["check"] for cell in notebook.cells if "check" in cell.mark}
        checks = {**notebook.metadata.get("exercises", {}), **checks}
    except Exception as error:  # whatever is wrong with its JSON
        raise ValueError("it is not a notebook; give a file that Jupyter has saved, *.ipynb") from error
    if not checks:
        raise ValueError("it has no marked exercises; give a copy of a chapter of this book")
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        _copy(path, Path(folder, "work"))
        stopped = await _execute(notebook, Path(folder), seconds)
    return [(id, *_result(id, check, notebook, stopped, seconds)) for id, check in checks.items()]


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


async def _execute(notebook: NotebookNode, folder: Path, seconds: float) -> str:
    """Execute all cells in `folder`/work, and return what stopped Python before the last of them, or ""."""
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
        for number, cell in enumerate(notebook.cells, 1):
            client.idle = False
            run = asyncio.ensure_future(client.async_execute_cell(cell, number - 1, number))
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
                return f"cell {number} {said}: {shorten(cell.source, 60, placeholder=' …')}"
    finally:
        if client.kc:
            client.kc.stop_channels()
        with suppress(AttributeError, ProcessLookupError):  # Windows has no process groups
            os.killpg(vars(manager.provisioner)["pgid"], signal.SIGKILL)  # with all that it has started
        if manager.has_kernel:
            await manager.shutdown_kernel(now=True)
    return ""


def _result(id: str, check: str, notebook: NotebookNode, stopped: str, seconds: float) -> tuple[str, str]:
    """Return the state and the message of an exercise after execution."""
    marked = [cell for cell in notebook.cells if cell.mark.get("id") == id and "check" in cell.mark]
    judged = [cell for cell in notebook.cells if _judges(cell, check)]  # wherever the reader has put it
    cells = [
        cell for cell in notebook.cells if cell.cell_type == "code" and (cell in marked or cell in judged)
    ]
    if not cells:
        if not marked:
            return "not graded", f"no cell calls {check}; copy the exercise's cell from the book's notebook"
        number = notebook.cells.index(marked[0]) + 1
        return "not graded", f"its cell, {number}, has become {marked[0].cell_type}; make it code again"
    if all(starter_digest(cell.source) == cell.mark.get("starter") for cell in cells):
        return "empty", ""
    if cells[-1].execution_count is None and stopped:
        return "not graded", stopped
    texts = [
        text for cell in cells for text in _shown(cell, seconds) if cell in judged or text.startswith(STOPPED)
    ]
    verdicts = [text for text in texts if text.startswith(("✓ ", "✗ "))]
    if not verdicts:
        return "not graded", f"its check shows nothing; end the cell with {check}, without ; or %%capture"
    said, *_ = " ".join(verdicts[-1][2:].removeprefix("Not yet: ").split()).partition(" (The inputs of this ")
    if verdicts[-1].startswith("✓"):
        return "yes", said
    state = "not graded" if f"NameError: name '{check.partition('.')[0]}'" in said else "no"
    for number, cell in enumerate(notebook.cells[: notebook.cells.index(cells[0])], 1):
        errors = [text for text in _shown(cell, seconds) if text.startswith(STOPPED)]
        if errors and "raises-exception" not in cell.metadata.get("tags", []):
            return state, f"{said} (Cell {number} {errors[0].removeprefix(STOPPED)})"
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
