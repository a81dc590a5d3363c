"""What a training run has written to its folder, for plotting: metrics, and the settings of its schedule."""

import json
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

from safetensors import SafetensorError, safe_open

from annotated_transformer.checkpointing.files import split_cut_off_line
from annotated_transformer.checkpointing.run_directory import METRICS_FILE
from annotated_transformer.checkpointing.training_state_file import STATE_FILE
from annotated_transformer.kinds import refuses_other_kinds
from annotated_transformer.text.lines import decode_lines
from annotated_transformer.training.metrics import EpochMetrics
from annotated_transformer.training.schedule import learning_rate

Schedule = Callable[[int], float]


@refuses_other_kinds
def read_reports(folder: str | Path, *, warn: Callable[[str], object] = warnings.warn) -> list[EpochMetrics]:
    """Return the reports that a training run has written to its folder so far.

    A last line that was cut off, for example by a kill, is left out, and `warn` is called with a
    sentence about it.
    """
    path = Path(folder) / METRICS_FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {path}; give the folder of a training run that has finished its first epoch"
        )
    raw, cut_off = split_cut_off_line(path.read_bytes())
    if cut_off:
        warn(f"{path}: the last line, {cut_off[:40]!r}…, was cut off; the curves end before it")
    reports: list[EpochMetrics] = []
    for number, line in enumerate(decode_lines(raw, str(path)), start=1):
        try:
            reports.append(EpochMetrics(**json.loads(line)))
            if len(reports) > 1 and reports[-1].step <= reports[-2].step:
                raise ValueError(f"step {reports[-1].step} follows step {reports[-2].step}")
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(
                f"{path}, line {number} is not a report of a training run ({error}); repair or remove it"
            ) from error
    return reports


@refuses_other_kinds
def read_schedule(folder: str | Path) -> Schedule | None:
    """Return the learning rate of the training run in `folder` as a function of the step.

    It follows from the settings that the run has saved with its last state; `None` if there is no such file.
    """
    path = Path(folder) / STATE_FILE
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            settings = json.loads(file.metadata()["state"])["identity"]
        names = ("d_model", "warmup_steps", "max_lr")
        schedule: Schedule = partial(learning_rate, **{name: settings[name] for name in names})
        return schedule
    except (SafetensorError, TypeError, KeyError, ValueError) as error:
        raise ValueError(
            f"{path} does not hold the settings of a training run ({error!r}); plot without it"
        ) from error
