"""A result that says where it comes from: commit, command, seed, machine, versions and date."""

import functools
import json
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from annotated_transformer.checkpointing.files import write_together

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PACKAGES = ("torch", "numpy", "tokenizers", "sacrebleu", "transformers", "ctranslate2")
# Results are written one after another, and do not change what the next one measures.
CODE = (".", ":!benchmarks/results", ":!benchmarks/README.md")


def write_result(path: Path, *, seed: int, results: Mapping[str, object]) -> None:
    """Write `results` and their origin to a JSON file, which is complete or as it was before.

    A program that runs long calls `describe_code` when it starts: the commit of that moment is
    then the one recorded.
    """
    record = {
        **describe_code(),
        "command": shlex.join(["python", *sys.orig_argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "machine": describe_machine(),
        "versions": describe_versions(),
        "results": results,
    }
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_together(path.parent, {path.name: text.encode()})


@functools.cache
def describe_code() -> dict[str, object]:
    """Return the commit, and whether files differed from it, when this was first asked.

    Both are None where there is no git to ask.
    """
    commit = _git("rev-parse", "HEAD")
    changes = _git("status", "--porcelain", "--", *CODE)
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def describe_machine() -> dict[str, object]:
    """Return processor, cores, memory and system, and how PyTorch uses them.

    What is preloaded matters, too: another allocator changes the speed.
    """
    return {
        **describe_processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "preloaded": [Path(name).name for name in re.split("[ :]", os.environ.get("LD_PRELOAD", "")) if name],
    }


def describe_processor(info: Path = Path("/proc/cpuinfo")) -> dict[str, object]:
    """Return the processor's name, family and model; virtual machines often hide all but the numbers.

    Only Linux on x86 tells the two numbers; elsewhere they are None.
    """
    try:
        lines = info.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    numbers = {name: fields.get(key) for name, key in (("family", "cpu family"), ("model", "model"))}
    return {
        "processor": fields.get("model name") or platform.processor(),
        **{name: None if number is None else int(number) for name, number in numbers.items()},
    }


def result_file(name: str) -> Path:
    """Return where a speed measured on this processor goes: `results/NAME_FAMILY-MODEL.json`.

    A ratio of two speeds holds for one kind of processor, so each has a file of its own.
    """
    processor = describe_processor()
    kind = f"{processor['family']}-{processor['model']}" if processor["family"] else platform.machine()
    return RESULTS / f"{name}_{kind}.json"


def describe_versions() -> dict[str, str | None]:
    """Return the version of each package that takes part, None where it is absent."""
    found: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def _git(*arguments: str) -> str | None:
    try:
        asked = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return asked.stdout.strip()
