"""Checkpoint averaging: the models of a run's last epochs, and their mean: section 6.1 of the paper."""

import dataclasses
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.files import DRAFT, fingerprint
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.tokenizer import Tokenizer

EPOCHS = "epochs"
NAME = re.compile("[0-9]{5,}")


def save_epoch(
    folder: Path,
    epoch: int,
    model: Transformer,
    tokenizer: Tokenizer,
    *,
    keep: int,
    languages: tuple[str, str] | None = None,
) -> None:
    """Save the model of an epoch below `folder`; delete all but those of the last `keep` epochs.

    If an epoch is trained again after a kill, its checkpoint is replaced.
    """
    checkpoint.save(folder / EPOCHS / f"{epoch:05}", model, tokenizer, languages=languages)
    for path in epoch_checkpoints(folder):
        if epoch - keep < int(path.name) <= epoch:
            continue
        for name in checkpoint.FILES:
            (path / name).unlink(missing_ok=True)
            (path / f"{name}{DRAFT}").unlink(missing_ok=True)
        with suppress(OSError):  # it holds files of others
            path.rmdir()


def epoch_checkpoints(folder: Path) -> list[Path]:
    """Return the folders of the saved epochs, oldest first."""
    numbered = [path for path in (folder / EPOCHS).glob("*") if NAME.fullmatch(path.name)]
    return sorted(filter(checkpoint.has_file, numbered), key=lambda path: int(path.name))


def average(folders: Sequence[str | Path]) -> tuple[Transformer, Tokenizer]:
    """Return a model with the averaged weights of the models in `folders`.

    The paper translates with the mean of the last 5 checkpoints of one training run (section 6.1). The mean
    of models from different runs is useless, but this function cannot detect that.
    """
    if not folders:
        raise ValueError("there is nothing to average; give at least one model folder")
    first, *others = folders
    model, tokenizer = checkpoint.load(first)
    state = model.state_dict()
    total = {name: tensor.double() for name, tensor in state.items()}
    for folder in others:
        other, its_tokenizer = checkpoint.load(folder)
        ours, theirs = _description(model, tokenizer), _description(other, its_tokenizer)
        differing = [f"{name}={theirs[name]} and not {x}" for name, x in ours.items() if theirs[name] != x]
        if differing:
            raise ValueError(
                f"{folder} differs from {first}: {', '.join(differing)}; average checkpoints of one "
                f"training run"
            )
        for name, tensor in other.state_dict().items():
            total[name] += tensor
    model.load_state_dict({name: (tensor / len(folders)).to(state[name]) for name, tensor in total.items()})
    return model, tokenizer


def _description(model: Transformer, tokenizer: Tokenizer) -> dict[str, object]:
    """Return what models must have in common to have a mean."""
    return dataclasses.asdict(model.config) | {
        "dtype": next(model.parameters()).dtype,
        "tokenizer": fingerprint(tokenizer.to_json()),
    }
