"""Execution of one exercise in a process of its own, which it may crash, block, or fill with output."""

import json
import os
import signal
import sys
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import torch
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from annotated_transformer.book.exercises import Verdict
from annotated_transformer.book.grading.notebook import Task

# On Linux, a server imports the modules below once, and the process of each exercise begins as a copy of it.
CONTEXT = get_context("forkserver") if sys.platform == "linux" else get_context("spawn")
CONTEXT.set_forkserver_preload([__name__, "annotated_transformer.book"])


def grade(exercise: Task, folder: Path, seconds: float) -> tuple[bool, str]:
    """Execute an exercise in the folder of its notebook, and return whether it passed, and a message.

    It is stopped after so many `seconds`, with all processes that it has started.
    """
    receiver, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=_work, args=(exercise, folder, torch.get_num_threads(), sender))
    process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            return False, f"no verdict after {seconds:g} seconds: the answer does not end, or it is too slow."
        passed, message = json.loads(receiver.recv_bytes())
        return passed, message
    except EOFError:
        process.join()
        return False, f"the answer ended Python {_cause(process.exitcode or 0)}."
    finally:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError):
                os.killpg(process.pid or 0, signal.SIGKILL)
        process.kill()
        process.join()
        receiver.close()


def _cause(status: int) -> str:
    """Return how a process ended, by its exit status."""
    if status >= 0:
        return f"with exit status {status}"
    name = signal.Signals(-status).name
    return f"by signal {name}" + ", perhaps for lack of memory" * (name == "SIGKILL")


def _work(exercise: Task, folder: Path, threads: int, sender: Connection) -> None:
    """Send the verdict on an exercise; what it prints goes nowhere."""
    if hasattr(os, "setsid"):
        os.setsid()  # so that its own processes can be stopped with it
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.environ["MPLBACKEND"] = "agg"
    os.chdir(folder)
    sys.path.insert(0, "")  # as in a notebook
    torch.set_num_threads(threads)
    sender.send_bytes(json.dumps(judge_answer(exercise)).encode())


def judge_answer(exercise: Task) -> tuple[bool, str]:
    """Execute the cells of an exercise, and return what its check says.

    A cell that stops with an error does not stop those after it, as the check may not depend on it.
    """
    no_history = Config(HistoryManager={"enabled": False})
    shell = InteractiveShell(config=no_history)  # type: ignore[no-untyped-call]
    errors = [error for code in (*exercise.preparation, *exercise.cells) if (error := run_code(shell, code))]
    verdict: list[object] = []
    shell.user_ns["_verdict"] = verdict
    if error := run_code(shell, f"_verdict.append({exercise.check})"):
        errors.append(error)
        return False, f"your code stopped with {errors[0]}"
    (found,) = verdict
    if not isinstance(found, Verdict):
        return False, f"the check returned {type(found).__name__}, not a verdict."
    if found.passed or not errors:
        return found.passed, str(found.message)
    return False, f"{found.message} (A cell before it stopped with {errors[0]})"


def run_code(shell: InteractiveShell, code: str) -> str:
    """Run a cell, and return the error that stopped it, or an empty string."""
    result = shell.run_cell(code, store_history=False)  # type: ignore[no-untyped-call]
    error = result.error_before_exec or result.error_in_exec
    return f"{type(error).__name__}: {error}" if error else ""
