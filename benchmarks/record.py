"""What every benchmark does: it reads its options, uses one thread, and writes its result with its origin.

The origin of a result is its commit, command, seed, machine, versions, and date.
"""

import functools
import json
import os
import platform
import shlex
import subprocess
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.book.results import RESULTS as RESULTS  # for the benchmarks
from annotated_transformer.checkpointing.files import write_together

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("torch", "numpy", "tokenizers", "sacrebleu", "transformers", "ctranslate2")
# Without the results and their README: writing one result must not make the next one dirty.
CODE = (".", ":!annotated_transformer/book/results", ":!benchmarks/README.md")
OPTIONS: dict[str, dict[str, Any]] = {
    "data": {"type": Path, "required": True, "help": "folder that holds the corpora"},
    "out": {"type": Path, "required": True, "help": "folder for the models"},
    "source": {"default": "en", "help": "language to translate from (%(default)s)"},
    "target": {"default": "de", "help": "language to translate into (%(default)s)"},
    "test": {"action": "store_true", "help": "translate the test sets, too"},
    "further": {"action": "store_true", "help": "train the shipped model further"},
}


def begin(doc: str | None, *options: str, **numbers: int) -> Namespace:
    """Return the options; remember the commit, and use one thread, so that runs can be repeated.

    `options` are names of `OPTIONS`, and `numbers` are further options with their defaults. With
    `threads=2`, as many threads are used, or as `--threads` says.
    """
    parser = ArgumentParser(description=doc, formatter_class=RawDescriptionHelpFormatter)
    for name in options:
        parser.add_argument(f"--{name}", **OPTIONS[name])
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default, help="(%(default)s)")
    values = parser.parse_args()
    describe_code()
    torch.set_num_threads(getattr(values, "threads", 1))
    return values


def write_result(
    name: str, results: Mapping[str, object], *, seed: int = 0, folder: Path | None = None
) -> None:
    """Write `results` and their origin to `name`.json, by default among the committed results."""
    text = json.dumps(with_origin(results, seed), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_together(folder or RESULTS, {f"{name}.json": text.encode()})


def with_origin(results: Mapping[str, object], seed: int) -> dict[str, object]:
    """Return what a result file contains."""
    return {
        **describe_code(),
        "command": shlex.join(["python", *sys.orig_argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "machine": describe_machine(),
        "versions": {name: version(name) if find_spec(name) else None for name in PACKAGES},
        "results": results,
    }


@functools.cache
def describe_code() -> dict[str, object]:
    """Return the commit and whether files differed from it, as of the first call; both None without git."""

    def git(*arguments: str) -> str:
        process = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
        return process.stdout.strip()

    try:
        return {"commit": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain", "--", *CODE))}
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "dirty": None}


def describe_machine() -> dict[str, object]:
    """Return the processor, cores, memory, and system, and how PyTorch uses them."""
    return {
        **describe_processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "threads": torch.get_num_threads(),
    }


def describe_processor() -> dict[str, object]:
    """Return the processor's name, family, and model; the last two are None but on Linux on x86."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    family, model = (fields.get(key) for key in ("cpu family", "model"))
    return {
        "processor": fields.get("model name") or platform.processor(),
        "family": family and int(family),
        "model": model and int(model),
    }


def processor_kind() -> str:
    """Return what a file of speeds is named after, because their ratios depend on the kind of processor."""
    processor = describe_processor()
    return f"{processor['family']}-{processor['model']}" if processor["family"] else platform.machine()
