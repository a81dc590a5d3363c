"""A folder that a training cannot be lost from: the chapter on training.

It holds the last state of the training, `metrics.jsonl` with a line for each report, and a
lock, which the system takes away from a process that ends, however it ends.
"""

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from annotated_transformer.checkpointing.files import write_together
from annotated_transformer.checkpointing.fingerprint import run_id
from annotated_transformer.checkpointing.ownership import refuse_foreign_model
from annotated_transformer.checkpointing.training_state import STATE, load_state, save_state
from annotated_transformer.text.lines import decode_lines
from annotated_transformer.training.distributed import Team
from annotated_transformer.training.state import TrainingState

if sys.platform != "win32":
    import fcntl

METRICS = "metrics.jsonl"
LOCK = "training.lock"


class RunDirectory:
    """Keep one training in a folder: after any end, the next run goes on from there.

    The weights at each step are then those of a run without interruption, bit for bit, on
    the same machine with the same number of threads.

    Attributes:
        folder: Where the state is; one training at a time may have it.
        identity: What else than settings and pairs makes this training another than others,
            such as a fingerprint of the corpus.
        seconds: A state is saved after each epoch, and when the last is so old.
        step: Of the last state that was saved or found.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        identity: Mapping[str, object] | None = None,
        seconds: float = 180.0,
    ) -> None:
        """Write nothing yet: that begins with `with`, which takes the folder.

        Raises:
            ValueError: If `seconds` is negative or NaN.
        """
        if not seconds >= 0:
            raise ValueError(
                f"{seconds} seconds between two saves (--save-minutes {seconds / 60:g}) is no duration; "
                f"give 0 (after each update) or more"
            )
        self.folder, self.identity, self.seconds = Path(folder), identity or {}, seconds
        self.step, self.writes = 0, Team().rank == 0
        self._lines: list[str] = []

    def __enter__(self) -> "RunDirectory":
        """Take the folder.

        Raises:
            BlockingIOError: If another training has it.
            OSError: If it cannot be written to.
        """
        if self.writes:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = _take(self.folder)
        return self

    def __exit__(self, *error: object) -> None:
        """Give the folder back."""
        if self.writes:
            os.close(self._lock)

    def resume(self, state: TrainingState, settings: Mapping[str, object]) -> None:
        """Set `state` to the last one saved, if any; `settings` are part of its identity.

        If there is none, save the first: from now on, a model in the folder is of this training.

        Raises:
            ValueError: If it is damaged, or of another training; or if the folder holds a
                model that this training did not write.
        """
        self.identity = {**self.identity, **settings}
        refuse_foreign_model(self.folder)
        if not (self.folder / STATE).exists() or not load_state(self.folder, state, self.identity):
            save_state(self.folder, state, self.identity)
        self.step, self._saved = state.at.step, time.monotonic()
        path = self.folder / METRICS
        lines = decode_lines(path.read_bytes(), str(path)) if path.exists() else []
        try:
            self._lines = [line for line in lines if json.loads(line)["step"] <= self.step]
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(
                f"{path} is damaged ({error!r}): each line must be JSON with a step; mend it, or move it away"
            ) from error

    @property
    def run_id(self) -> str:
        """Return what marks the models that this training writes; known once it has begun."""
        return run_id(self.identity)

    def is_due(self) -> bool:
        """Say whether the last save is too long ago."""
        return time.monotonic() - self._saved >= self.seconds

    def save(self, state: TrainingState) -> None:
        """Replace the state in the folder.

        Raises:
            OSError: If it cannot be written; the older one is still there.
        """
        save_state(self.folder, state, self.identity)
        self.step, self._saved = state.at.step, time.monotonic()

    def report(self, metrics: Mapping[str, object]) -> None:
        """Add a line to `metrics.jsonl`, which is never seen half written."""
        self._lines.append(json.dumps(dict(metrics)))
        if self.writes:
            text = "\n".join([*self._lines, ""])
            write_together(self.folder, {METRICS: text.encode()})


def _take(folder: Path) -> int:
    """Lock `folder`, and return what gives it back when closed."""
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if sys.platform != "win32":  # which has no such lock
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        process = os.read(handle, 20).decode().strip()
        os.close(handle)
        raise BlockingIOError(
            f"process {process} is training into {folder}; wait for it, or give another folder"
        ) from None
    os.ftruncate(handle, 0)
    os.write(handle, f"{os.getpid()}\n".encode())
    return handle
