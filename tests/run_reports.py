"""The reports and the settings of a training run that never took place."""

import dataclasses
import json
from pathlib import Path

from safetensors.torch import save

from annotated_transformer.checkpointing.run_directory import METRICS_FILE
from annotated_transformer.training import EpochMetrics

NAMES = (
    "step", "epoch", "training_loss", "validation_loss", "lr", "gradient_norm", "encoder_cosine",
    "cross_attention_entropy", "tokens_per_second",
)  # fmt: skip
REPORTS = [
    EpochMetrics(**dict(zip(NAMES, values, strict=True)))
    for values in [
        (11, 1, 7.25, 5.5, 0.001, 1.5, 0.99, 0.999, 1009.0),
        (23, 2, 4.125, 3.0, 0.003, 0.75, 0.5, 0.75, 1009.0),
        (31, 3, 3.5, 3.25, 0.002, 0.875, -0.25, 0.5, 1009.0),
    ]
]


def settings(**changes: object) -> bytes:
    identity = {"d_model": 7, "warmup_steps": 5, "max_lr": 0.001, **changes}
    return save({}, {"state": json.dumps({"identity": identity})})


def write_run(folder: Path) -> None:
    """Write the reports to a folder as a training run does."""
    lines = [json.dumps(dataclasses.asdict(report)) + "\n" for report in REPORTS]
    (folder / METRICS_FILE).write_text("".join(lines))
