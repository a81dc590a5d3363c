"""A crash-safe run directory: a training run that writes here can be killed at any moment and resumed.

It holds the last state of the run, `metrics.jsonl` with one line for each epoch, and a lock, which the
operating system releases when the process ends, however it ends. The run marks its state and its models
with its `run_id`, and overwrites no other model.

The model of the run is beside these files, and once more in the folder `model`, which holds nothing else: it
can be copied alone. Both share their blocks on disk where the file system has hard links.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch.distributed as dist

from annotated_transformer.checkpointing import averaging, checkpoint
from annotated_transformer.checkpointing.files import (
    UNSUPPORTED,
    link_together,
    read_metadata,
    split_cut_off_line,
    write_together,
)
from annotated_transformer.checkpointing.rank_0 import from_rank_0
from annotated_transformer.checkpointing.training_state_file import (
    STATE_FILE,
    Progress,
    SavedState,
    holds_model,
    load_state,
    run_id,
    save_state,
)
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.lines import decode_lines
from annotated_transformer.text.tokenizer import Tokenizer

if sys.platform != "win32":
    import fcntl

METRICS_FILE = "metrics.jsonl"
LOCK_FILE = "training.lock"
MODEL = "model"
WAY_OUT = "give another folder, or move it away"


@refuses_other_kinds
class RunDirectory:
    """Keep the state of one training run in a folder, so that an interrupted run can resume.

    The weights at each step are those of an uninterrupted run, bit for bit, on the same machine with the
    same number of threads. A run may begin with a compiled model and resume with a plain one, or the reverse,
    which changes the last bits and the draws of dropout.

    Attributes:
        folder: Where the files are; one training run at a time may use it.
        identity: What distinguishes this training run from others, apart from its settings and pairs,
            such as a fingerprint of the corpus.
        seconds: Longest time between two saves; the state is also saved after each epoch.
        log: Called with a message, for example if the run resumes.
        languages: The languages of source and target, which are stored with each model.
        writes: Whether this process writes files; in a process group only rank 0 does.
        progress: Progress of the last state that was saved or loaded.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        identity: Mapping[str, object] | None = None,
        seconds: float = 180.0,
        log: Callable[[str], object] = lambda message: None,
    ) -> None:
        """Write nothing yet; the folder is created when the context is entered."""
        if not seconds >= 0:
            raise ValueError(
                f"{seconds} seconds between two saves is not a duration; give 0 (after each update) or more"
            )
        self.folder, self.identity, self.seconds = Path(folder), identity or {}, seconds
        self.log = log
        self.languages: tuple[str, str] | None = None
        self.progress, self.writes = Progress(), not dist.is_initialized() or dist.get_rank() == 0
        self._lines: list[str] = []

    def __enter__(self) -> "RunDirectory":
        """Create and lock the folder; raise BlockingIOError if another training run uses it."""
        from_rank_0(self._create)
        return self

    def __exit__(self, *error: object) -> None:
        if self.writes:
            os.close(self._lock)

    def _create(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = _take(self.folder, self.log)
        except BlockingIOError:
            raise
        except OSError as error:
            raise OSError(
                error.errno, f"cannot write to {self.folder} ({error.strerror}); give another folder"
            ) from error

    def resume(self, first: SavedState, settings: Mapping[str, object], code: str) -> SavedState | None:
        """Return the last saved state, if there is one; otherwise save `first`, and return `None`.

        `settings` become part of the identity, and `code` is a digest of the source: if the saved state has
        another one, there is a warning. From now on, a model in the folder belongs to this run. The state or
        a model of another training run is refused.
        """
        self.identity, self.code = {**self.identity, **settings}, code
        saved = from_rank_0(self._find_or_save, first)
        self.progress, self._saved = (saved or first).progress, time.monotonic()
        return saved

    def _find_or_save(self, first: SavedState) -> SavedState | None:
        refuse_foreign_model(self.folder)
        metrics, exists = self.folder / METRICS_FILE, (self.folder / STATE_FILE).exists()
        if not exists and metrics.is_file() and metrics.stat().st_size:
            self._read_metrics(0)  # report damaged metrics first
            raise ValueError(
                f"{metrics} has no {STATE_FILE} beside it, so this training run would overwrite it; move it "
                f"away, or give another folder"
            )
        saved = load_state(self.folder, self.identity, self.code) if exists else None
        if saved is None:
            save_state(self.folder, first, self.identity, self.code)
        elif saved.progress.step:
            self.log(f"resuming at step {saved.progress.step}")
        self._lines = self._read_metrics((saved or first).progress.step)
        return saved

    @property
    def run_id(self) -> str:
        """Return the mark on this run's models; it is final once the run has started."""
        return run_id(self.identity)

    def is_due(self) -> bool:
        """Return whether the last save was at least `seconds` ago."""
        return time.monotonic() - self._saved >= self.seconds

    def save(self, state: SavedState) -> None:
        """Replace the state in the folder; if it cannot be written, the older one is still there."""
        if self.writes:
            save_state(self.folder, state, self.identity, self.code)
        self.progress, self._saved = state.progress, time.monotonic()

    def save_model(
        self,
        epoch: int,
        model: Transformer,
        tokenizer: Tokenizer,
        *,
        average: int,
        keep: int,
        best: bool = True,
    ) -> None:
        """Save an epoch's model, keep the last `keep` of them, and save the mean of the last `average`.

        If it is not the best, the model of this training run stays as it is.
        """
        if self.writes:
            averaging.save_epoch(self.folder, epoch, model, tokenizer, keep=keep, languages=self.languages)
            if not best:
                return
            if average > 1:
                self.save_mean(average)
            else:
                self._save_result(model, tokenizer)

    def save_mean(self, average: int) -> None:
        """Save the mean of the models of the last `average` epochs as the model of this training run."""
        if self.writes:
            self._save_result(*averaging.average(averaging.epoch_checkpoints(self.folder)[-average:]))

    def _save_result(self, model: Transformer, tokenizer: Tokenizer) -> None:
        """Save the model of this training run, and the same files in the folder `model`, to be copied."""
        checkpoint.save(self.folder, model, tokenizer, languages=self.languages, run=self.run_id)
        link_together(self.folder, self.folder / MODEL, checkpoint.FILES)

    def report(self, metrics: Mapping[str, object]) -> None:
        """Add a line to `metrics.jsonl`, atomically."""
        self._lines.append(json.dumps(dict(metrics)))
        if self.writes:
            text = "\n".join([*self._lines, ""])
            write_together(self.folder, {METRICS_FILE: text.encode()})

    def _read_metrics(self, last_step: int) -> list[str]:
        path = self.folder / METRICS_FILE
        raw, cut_off = split_cut_off_line(path.read_bytes() if path.exists() else b"")
        if cut_off:
            self.log(f"{path}: the last line, {cut_off[:40]!r}…, was cut off; it is left out")
        lines = decode_lines(raw, str(path))
        try:
            return [line for line in lines if json.loads(line)["step"] <= last_step]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ValueError(
                f"{path} is damaged ({error!r}): each line must be JSON with a step; "
                f"repair it, or move it away"
            ) from error


def _take(folder: Path, log: Callable[[str], object]) -> int:
    """Lock `folder`, and return a file descriptor that releases the lock when closed."""
    handle = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _lock(handle, folder, log)
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
    except BaseException:  # Ctrl-C, too: otherwise this process could not train into the folder again
        os.close(handle)
        raise
    return handle


def _lock(handle: int, folder: Path, log: Callable[[str], object]) -> None:
    if sys.platform == "win32":
        return  # Windows has no such lock
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        process = os.read(handle, 20).decode().strip()
        raise BlockingIOError(
            f"process {process} is training into {folder}; wait for it, or give another folder"
        ) from None
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        log(
            f"the file system of {folder} has no locks ({error.strerror}); make sure that no other training "
            f"run uses this folder"
        )


def refuse_foreign_model(folder: Path) -> None:
    """Refuse a folder with a model that a training run there would overwrite but did not write."""
    if not (holds_model(folder) or checkpoint.has_file(folder / MODEL)):
        return
    if not (folder / STATE_FILE).exists():
        raise ValueError(
            f"{folder} holds a model and no {STATE_FILE}: no training run here wrote it, and this one "
            f"would overwrite it; {WAY_OUT}"
        )
    for weights in (folder / checkpoint.WEIGHTS, folder / MODEL / checkpoint.WEIGHTS):
        if weights.exists() and _mark(weights) != _mark(folder / STATE_FILE):
            raise ValueError(
                f"{weights} is not of the training run whose {STATE_FILE} is beside it, "
                f"which would overwrite it; {WAY_OUT}"
            )


def _mark(path: Path) -> str | None:
    return read_metadata(path, way_out=WAY_OUT).get("run")
