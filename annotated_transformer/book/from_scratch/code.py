"""A reader's code, as the checks call it: a file in a process of its own, or a notebook's own names."""

import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from annotated_transformer.book.exercises.verdict import Unmet
from annotated_transformer.book.from_scratch import worker

EMPTY = "is still empty; put your code where NotImplementedError is raised."
SHOWN_LINES = 5  # of what a file prints

Tensors = Mapping[str, Tensor]


@runtime_checkable
class Code(Protocol):
    """What the checks need: each method answers as `worker.Objects` does, or stops the check.

    `losses` are those of the reader's training loop and of the book's, after the check of that step.
    """

    losses: dict[str, list[float]]

    def request(self, *request: Any) -> Any:
        """Return the result of one of its methods."""


class ReadersModule:
    """A module of a reader's class."""

    def __init__(self, code: Code, name: str, *sizes: int | float, tensors: Tensors | None = None) -> None:
        """Make it, with these weights."""
        weights = None if tensors is None else {key: value.clone() for key, value in tensors.items()}
        self.code, self.number = code, code.request("make", name, list(sizes), weights)

    def __call__(self, *args: object) -> Any:
        """Call it."""
        return self.code.request("apply", self.number, *args)

    @property
    def reference(self) -> dict[str, int]:
        """Return what stands for it among the arguments of a function."""
        return {"made": self.number}


class Here:
    """The names of a notebook or a module, in this process, without a limit."""

    def __init__(self, names: dict[str, Any]) -> None:
        """Take the names."""
        self.objects, self.losses = worker.Objects(names), dict[str, list[float]]()

    def request(self, *request: Any) -> Any:
        """Return the result of one of the methods of `worker.Objects`, in float64."""
        try:
            with _float64():
                return getattr(self.objects, request[0])(*request[1:])
        except Exception as error:
            said = worker.described(error, "")
            raise _stopped(said) from (None if "empty" in said else error)


@contextmanager
def _float64() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class Process:
    """A file in a process of its own, which gets some seconds for each request."""

    def __init__(self, path: Path, seconds: float) -> None:
        """Take the file, and the seconds; `with` starts the process."""
        self.path, self.seconds, self.losses = path.resolve(), seconds, dict[str, list[float]]()

    def __enter__(self) -> "Process":
        """Start the process, and let it import the file.

        Raises:
            Unmet: If that fails, changes PyTorch's defaults, or imports this package.
        """
        self.printed = tempfile.TemporaryFile()
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-u", worker.__file__, str(self.path), str(theirs_in), str(theirs_out)],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=self.printed,
            stderr=self.printed,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
        for end in (theirs_in, theirs_out):
            os.close(end)
        self.given, self.answers = os.fdopen(ours_out, "wb"), os.fdopen(ours_in, "rb")
        try:
            if changed := self._answer()["changed"]:
                told = ", ".join(f"{name} to {value}" for name, value in changed.items())
                raise Unmet(f"your file changes torch's defaults ({told}); leave them as they are.")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process, and what it has started."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.given, self.answers, self.printed):
            try:
                pipe.close()
            except BrokenPipeError:
                continue

    def prints(self) -> list[str]:
        """Return the last lines that the file has printed."""
        size = self.printed.seek(0, os.SEEK_END)
        self.printed.seek(max(0, size - 1000))
        return self.printed.read().decode(errors="replace").splitlines()[-SHOWN_LINES:]

    def request(self, *request: Any) -> Any:
        """Return the result of one of the methods of `worker.Objects`."""
        try:
            worker.send(self.given, list(request))
        except BrokenPipeError:
            raise Unmet("your file has ended Python.") from None
        return self._answer()["result"] if request else None

    def _answer(self) -> dict[str, Any]:
        if not select.select([self.answers], [], [], self.seconds)[0]:
            self.process.kill()
            raise Unmet(
                f"your code did not answer within {self.seconds:g} seconds: it does not end, or is too slow."
            )
        try:
            said: dict[str, Any] = worker.receive(self.answers)
        except EOFError:
            raise Unmet("your code has ended Python.") from None
        except Exception as error:
            raise Unmet("what your code returned cannot be read; does it change torch?") from error
        if said.get("book"):
            raise Unmet("your file imports annotated_transformer; write the step with torch alone.")
        if "error" in said or "empty" in said:
            raise _stopped(said)
        return {"result": None, **said}


def _stopped(said: Mapping[str, Any]) -> Unmet:
    if "empty" in said:
        return Unmet(f"{said['empty']} {EMPTY}")
    if misfit := said["error"].partition("Misfit: ")[2]:
        return Unmet(f"your {misfit}")
    return Unmet("\n".join([f"your code stopped with {said['error']}", *said["lines"]]))
