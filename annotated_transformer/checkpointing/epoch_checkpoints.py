"""The models of the last epochs of a training run, kept to be averaged: section 6.1 of the paper."""

import os
import re
from contextlib import suppress
from pathlib import Path

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.averaging import average
from annotated_transformer.checkpointing.files import DRAFT
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import Tokenizer

EPOCHS = "epochs"
NAME = re.compile("[0-9]{5,}")


def save_epoch(folder: Path, epoch: int, model: Transformer, tokenizer: Tokenizer, *, keep: int) -> None:
    """Save the model of an epoch below `folder`; delete all but those of the last `keep` epochs.

    If an epoch is trained again after a kill, its checkpoint is replaced.

    Raises:
        ValueError: If `keep` is less than 1.
        OSError: If it cannot be written; those of earlier epochs are still there.
    """
    if keep < 1:
        raise ValueError(f"keep={keep} would delete the checkpoint just saved; keep 1 or more")
    checkpoint.save(folder / EPOCHS / f"{epoch:05}", model, tokenizer)
    for path in epoch_checkpoints(folder):
        if not epoch - keep < int(path.name) <= epoch:
            _remove(path)


def _remove(checkpoint_folder: Path) -> None:
    """Delete the files of a checkpoint, and its folder if it holds nothing else."""
    for name in checkpoint.FILES:
        (checkpoint_folder / name).unlink(missing_ok=True)
        (checkpoint_folder / f"{name}{DRAFT}").unlink(missing_ok=True)
    with suppress(OSError):
        checkpoint_folder.rmdir()


def epoch_checkpoints(folder: Path) -> list[Path]:
    """Return the folders of the saved epochs, oldest first.

    Raises:
        ValueError: If `epochs` is not a folder.
    """
    epochs = folder / EPOCHS
    if os.path.lexists(epochs) and not epochs.is_dir():
        raise ValueError(f"{epochs} is not a folder; move it away, or give another folder")
    folders = [path for path in epochs.glob("*") if NAME.fullmatch(path.name) and _holds_file(path)]
    return sorted(folders, key=lambda path: int(path.name))


def _holds_file(checkpoint_folder: Path) -> bool:
    return any((checkpoint_folder / name).exists() for name in checkpoint.FILES)


def average_last_epochs(folder: Path, *, last: int) -> tuple[Transformer, Tokenizer]:
    """Return the mean of the models of the `last` epochs below `folder`, or of as many as there are.

    Raises:
        ValueError: If there is none.
    """
    return average(epoch_checkpoints(folder)[-last:])
