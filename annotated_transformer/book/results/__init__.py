"""The committed results of the benchmarks, which chapters show; each names the command that made it."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent
"""Their folder; it comes with the package, so a notebook can read it anywhere."""


def read_result(name: str) -> dict[str, Any]:
    """Return what the benchmark in the file `name`.json found, without the record of its origin."""
    results: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["results"]
    return results


def training_stages(shipped: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the results of a shipped model after each stage of its training; `shipped` is the last one."""
    stages = [shipped]
    while before := stages[0]["training"]["results"].get("before"):
        stages.insert(0, before)
    return stages
