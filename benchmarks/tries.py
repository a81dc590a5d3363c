"""Every complete run of a recipe that was chosen on a validation set: its settings and its validation BLEU.

The more runs we choose from, the higher is the best validation BLEU by luck alone. So each one is listed, in
`results/tries_*.json`. A try has no test score: nothing may be chosen by one.
"""

import dataclasses
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from annotated_transformer.checkpointing.files import write_together
from annotated_transformer.config import TransformerConfig
from annotated_transformer.training.config import TrainingConfig
from annotated_transformer.training.recipe import Recipe
from benchmarks.record import describe_card, describe_code, describe_machine

HELD_BACK = "test"


def add_try(
    path: Path,
    *,
    settings: Mapping[str, object],
    seed: int,
    weights: str,
    validation: Mapping[str, float],
    device: str = "cpu",
) -> None:
    """Add a run to the tries in the file `path`, unless a run with these weights is there.

    `validation` has the BLEU of each model of the run, with a beam of 5; the last one is the run's result.

    Raises:
        ValueError: If one of the scores is that of a test set.
    """
    if of_test := [name for name in validation if HELD_BACK in name]:
        raise ValueError(f"{of_test[0]!r} is a test score, by which nothing may be chosen; leave it out")
    record: dict[str, Any] = {"benchmark": path.stem.removeprefix("tries_"), "tries": []}
    if path.exists():
        record = json.loads(path.read_text("utf-8"))
    if weights in [each["weights"] for each in record["tries"]]:
        return
    machine = describe_card()["card"] if device == "cuda" else describe_machine()["processor"]
    record["tries"].append({
        **describe_code(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine,
        "seed": seed,
        "weights": weights,
        "validation": dict(validation),
        "settings": dict(settings),
    })  # fmt: skip
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_together(path.parent, {path.name: text.encode()})


def changes(settings: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """Return the settings that differ from those `before` or, where it lacks one, from a recipe's default."""
    known = flat(before)
    parts: dict[str, list[str]] = {}
    for name, value in flat(settings).items():
        part, _, setting = name.rpartition(".")
        if value != known.get(name, DEFAULTS.get(setting) if part else None):
            written = f"{value:,}" if type(value) is int else str(value)
            parts.setdefault(part, []).append(f"{setting} {written}")
    return "; ".join(
        f"{part}: {', '.join(each)}" if part else ", ".join(each) for part, each in parts.items()
    )


def flat(settings: Mapping[str, Any]) -> dict[str, object]:
    """Return the settings without nesting: `student.dropout` is in the shape of the student's recipe."""
    found: dict[str, object] = {}
    for name, value in settings.items():
        if not isinstance(value, Mapping):
            found[name] = value
            continue
        inner = value.get("shape", {}) | value.get("training", {}) | value
        found |= {f"{name}.{key}": each for key, each in inner.items() if key not in ("shape", "training")}
    return found


DEFAULTS = dataclasses.asdict(Recipe(shape=TransformerConfig(), training=TrainingConfig()))
DEFAULTS = {**DEFAULTS.pop("shape"), **DEFAULTS.pop("training"), **DEFAULTS}
