"""Saving the state of a training run to one file, and loading it.

Because one file holds all of it, a single rename replaces the older state: a run that is killed at any
moment leaves one complete state, the older or the newer one.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from annotated_transformer.calls import warn
from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.averaging import epoch_checkpoints
from annotated_transformer.checkpointing.files import (
    digest_tensors,
    fingerprint,
    read_tensors,
    safetensors_bytes,
    write_together,
)

Mode = Literal["min", "max"]
"""Whether the lowest or the highest value of a criterion is the best."""

STATE_FILE = "training.safetensors"
FORMAT_VERSION = "3"
WAY_OUT = "give another folder to train from the first step"


@dataclass
class Progress:
    """How far a training run has come; batches, labels and sums are those of the current epoch."""

    step: int = 0  # updates of the weights
    epoch: int = 0  # finished ones
    batch: int = 0  # finished ones
    labels: int = 0
    loss_sum: float = 0.0
    norm_sum: float = 0.0  # of the gradient norms, one for each update
    lr: float = 0.0  # the last one
    seconds: float = 0.0  # wall time over all sessions
    best_loss: float | None = None  # of a finished epoch, or what a criterion returned instead
    best_epoch: int = 0  # counted from 1; of several equal ones, the first
    best_step: int = 0  # the last update of that epoch

    def is_best(self, number: float, mode: Mode = "min") -> bool:
        """Return whether a validation loss or criterion is better than those of all finished epochs."""
        if self.best_loss is None:
            return True
        return number > self.best_loss if mode == "max" else number < self.best_loss


class SavedState(NamedTuple):
    """The saved state of a training run."""

    tensors: dict[str, Tensor]  # weights, Adam's moments and random generators by name
    progress: Progress


def run_id(identity: Mapping[str, object]) -> str:
    """Return the mark on the files of a training run: the same in each of its sessions."""
    return fingerprint(sorted(identity.items()))


def save_state(folder: Path, state: SavedState, identity: Mapping[str, object], code: str) -> None:
    """Replace the state in `folder`; `code` is a digest of the source that computes it."""
    threads = torch.get_num_threads()
    progress = asdict(state.progress)
    record = json.dumps({"identity": dict(identity), "progress": progress, "threads": threads, "code": code})
    metadata = {"format": "pt", "format_version": FORMAT_VERSION, "state": record}
    metadata["run"] = run_id(identity)
    metadata["digest"] = _digest(state.tensors, record)
    write_together(folder, {STATE_FILE: safetensors_bytes(state.tensors, metadata)})


def load_state(folder: Path, identity: Mapping[str, object], code: str) -> SavedState | None:
    """Return the state in `folder`, or `None` if it may be replaced; `code` is the digest of the source now.

    It may be replaced if it belongs to another training run that has not made its first update.
    """
    tensors, record = _read(folder / STATE_FILE)
    changes = setting_changes(record["identity"], json.loads(json.dumps(dict(identity))))
    if changes and record["progress"]["step"] == 0 and not holds_model(folder):
        return None
    if changes:
        raise ValueError(
            f"{folder / STATE_FILE} is the state of another training run: {', '.join(changes)}; "
            "resume with the settings that it was started with, or give another folder"
        )
    if record["threads"] != torch.get_num_threads():
        warn(
            f"the training run in {folder} used {record['threads']} CPU threads and resumes with "
            f"{torch.get_num_threads()}: its weights may differ from those of an uninterrupted run in "
            f"their last bits; resume with {record['threads']} for the same bits"
        )
    step = record["progress"]["step"]
    if step and record.get("code", "") not in ("", code):
        warn(
            f"the code of the model, its loss, or its learning rate was edited since the training run in "
            f"{folder} was saved at step {step}, and computes the next steps; to compute all of them by it, "
            f"give another folder"
        )
    return SavedState(tensors, Progress(**record["progress"]))


def setting_changes(
    before: Mapping[str, object], now: Mapping[str, object], sentence: str = "{} was {} and is {}"
) -> list[str]:
    """Return what differs between the identities of two training runs, or of a run's processes."""
    changes = []
    for name in {**now, **before}:
        values = [identity.get(name) for identity in (before, now)]
        if values[0] != values[1]:
            words = [_in_words(value) for value in values]
            same_words = words == ["given", "given"]
            changes.append(f"{name} is not the same" if same_words else sentence.format(name, *words))
    return changes


def _in_words(value: object) -> object:
    is_digest = isinstance(value, str) and re.fullmatch("[0-9a-f]{12}|[0-9a-f]{64}", value)
    return "given" if is_digest else "not given" if value is None else value


def holds_model(folder: Path) -> bool:
    """Return whether `folder` holds a model, or a part of one."""
    return checkpoint.has_file(folder) or bool(epoch_checkpoints(folder))


def read_progress(folder: Path) -> Progress:
    """Return how far the training run in `folder` has come."""
    return Progress(**_read(folder / STATE_FILE)[1]["progress"])


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    tensors, metadata = read_tensors(path, way_out=WAY_OUT)
    if metadata.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"{path} has format_version={metadata.get('format_version')}, and this package "
            f"reads {FORMAT_VERSION}; {WAY_OUT}"
        )
    record = metadata.get("state", "")
    if _digest(tensors, record) != metadata.get("digest"):
        raise ValueError(f"{path} is damaged (it does not hold what was saved); {WAY_OUT}")
    return tensors, json.loads(record)


def _digest(tensors: dict[str, Tensor], record: str) -> str:
    return hashlib.sha256((digest_tensors(tensors) + record).encode()).hexdigest()
