"""Where a training stands, to a file and back: the chapter on training.

One file holds it all, so one step replaces the older state by the newer: whenever a kill
comes, one of the two is there, whole.
"""

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.epoch_checkpoints import epoch_checkpoints
from annotated_transformer.checkpointing.files import (
    digest_tensors,
    read_tensors,
    to_safetensors,
    write_together,
)
from annotated_transformer.checkpointing.fingerprint import run_id
from annotated_transformer.training.state import Counters, TrainingState

STATE = "training.safetensors"
FORMAT_VERSION = "1"


def save_state(folder: Path, state: TrainingState, identity: Mapping[str, object]) -> None:
    """Write the state to `folder` in one step; `identity` says which training it is of.

    Raises:
        OSError: If it cannot be written; an older one is still there.
    """
    tensors = state.tensors()
    threads = torch.get_num_threads()
    record = json.dumps({"identity": dict(identity), "at": asdict(state.at), "threads": threads})
    metadata = {"format": "pt", "format_version": FORMAT_VERSION, "state": record}
    metadata["run"] = run_id(identity)
    metadata["digest"] = _digest(tensors, record)
    if state.team.rank == 0:
        write_together(folder, {STATE: to_safetensors(tensors, metadata)})


def load_state(folder: Path, state: TrainingState, identity: Mapping[str, object]) -> bool:
    """Set `state` to the one that `save_state` wrote to `folder`, and return True.

    Before its first update a training has nothing to lose: its state may be replaced by that of
    another. Then `state` stays as it is, and False is returned.

    Raises:
        ValueError: If the file is damaged, or of another training than `identity` says.
    """
    tensors, record = _read(folder / STATE)
    before, now = record["identity"], json.loads(json.dumps(dict(identity)))
    changes = [
        f"{name} was {before.get(name)} and is {now.get(name)}"
        for name in now | before
        if before.get(name) != now.get(name)
    ]
    if changes and record["at"]["step"] == 0 and not holds_model(folder):
        return False
    if changes:
        raise ValueError(
            f"{folder / STATE} is the state of another training: {', '.join(changes)}; "
            f"give what it was begun with, or another folder"
        )
    state.restore(tensors)
    state.at = Counters(**record["at"])
    threads = record.get("threads", torch.get_num_threads())  # which older files do not hold
    if threads != torch.get_num_threads():
        warnings.warn(
            f"the training run in {folder} used {threads} CPU threads and resumes with "
            f"{torch.get_num_threads()}: its weights may differ from those of an uninterrupted run in "
            f"their last bits; give --threads {threads} for the same bits",
            stacklevel=2,
        )
    return True


def holds_model(folder: Path) -> bool:
    """Return whether there is a model in `folder`, or a part of one."""
    return any((folder / name).exists() for name in checkpoint.FILES) or bool(epoch_checkpoints(folder))


def read_counters(folder: Path) -> Counters:
    """Return how far the training in `folder` has come.

    Raises:
        ValueError: If the file is damaged.
    """
    return Counters(**_read(folder / STATE)[1]["at"])


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    way_out = "give another folder to train from the first step"
    tensors, metadata = read_tensors(path, way_out=way_out)
    if metadata.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"{path} has format_version={metadata.get('format_version')}, and this package "
            f"reads {FORMAT_VERSION}; {way_out}"
        )
    record = metadata.get("state", "")
    if _digest(tensors, record) != metadata.get("digest"):
        raise ValueError(f"{path} is damaged (it does not hold what was saved); {way_out}")
    return tensors, json.loads(record)


def _digest(tensors: dict[str, Tensor], record: str) -> str:
    return hashlib.sha256((digest_tensors(tensors) + record).encode()).hexdigest()
