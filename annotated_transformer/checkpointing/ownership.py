"""Whether a model in a folder belongs to the training run that writes there.

A training run marks its state and its models with its `run_id`, and overwrites nothing else.
"""

from pathlib import Path

from annotated_transformer.checkpointing import checkpoint
from annotated_transformer.checkpointing.files import read_metadata, refuse_special_files
from annotated_transformer.checkpointing.training_state import STATE, holds_model

WAY_OUT = "give another folder, or move it away"


def refuse_foreign_model(folder: Path) -> None:
    """Refuse a folder with a model that a training run there would overwrite but did not write.

    Raises:
        ValueError: If the folder holds a model of unknown origin, or a damaged one, or if something other
            than a regular file has the name of a file that the run would write.
    """
    refuse_special_files(folder, *checkpoint.FILES, STATE)
    if not holds_model(folder):
        return
    if not (folder / STATE).exists():
        raise ValueError(
            f"{folder} holds a model and no {STATE}: no training run here wrote it, and this one "
            f"would overwrite it; {WAY_OUT}"
        )
    weights = folder / checkpoint.WEIGHTS
    if weights.exists() and _mark(weights) != _mark(folder / STATE):
        raise ValueError(
            f"{weights} is not of the training run whose {STATE} is beside it, "
            f"which would overwrite it; {WAY_OUT}"
        )


def _mark(path: Path) -> str | None:
    return read_metadata(path, way_out=WAY_OUT).get("run")
