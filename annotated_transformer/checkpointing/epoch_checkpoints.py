"""The models of the last epochs of a training run, kept to be averaged: section 6.1 of the paper."""

import shutil
from pathlib import Path

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.averaging import average
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import Tokenizer

EPOCHS = "epochs"


def save_epoch(folder: Path, epoch: int, model: Transformer, tokenizer: Tokenizer, *, keep: int) -> None:
    """Save the model of an epoch below `folder`; delete all but those of the last `keep` epochs.

    An epoch that is trained again, after a kill, replaces its checkpoint.

    Raises:
        ValueError: If `keep` is less than 1.
        OSError: If it cannot be written; those of earlier epochs are still there.
    """
    if keep < 1:
        raise ValueError(f"keep={keep} would delete the checkpoint just saved; keep 1 or more")
    checkpoint.save(folder / EPOCHS / f"{epoch:05}", model, tokenizer)
    for path in epoch_checkpoints(folder):
        if not epoch - keep < int(path.name) <= epoch:
            shutil.rmtree(path)


def epoch_checkpoints(folder: Path) -> list[Path]:
    """Return the folders of the saved epochs, oldest first."""
    paths = (folder / EPOCHS).glob("*")
    return sorted(path for path in paths if path.name.isdigit())


def average_last_epochs(folder: Path, *, last: int) -> tuple[Transformer, Tokenizer]:
    """Return the mean of the models of the `last` epochs below `folder`, or of as many as there are.

    Raises:
        ValueError: If there is none.
    """
    return average(epoch_checkpoints(folder)[-last:])
