"""Result files that record their origin: commit, command, seed, machine, versions, and date."""

import functools
import json
import os
import platform
import re
import shlex
import subprocess
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from annotated_transformer.book.results import RESULTS as RESULTS  # for the benchmarks
from annotated_transformer.checkpointing.files import write_together

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("torch", "numpy", "tokenizers", "sacrebleu", "transformers", "ctranslate2")
# Without the results and their README: writing one result must not make the next one dirty.
CODE = (".", ":!annotated_transformer/book/results", ":!benchmarks/README.md")


def data_parser(doc: str | None) -> ArgumentParser:
    """Return a parser with the option `--data`, and with a module's docstring as its help."""
    parser = ArgumentParser(description=doc, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the corpora")
    return parser


def add_languages(parser: ArgumentParser) -> None:
    """Add the options `--source` and `--target`."""
    parser.add_argument("--source", default="en", help="language to translate from (%(default)s)")
    parser.add_argument("--target", default="de", help="language to translate into (%(default)s)")


def begin(parser: ArgumentParser) -> Namespace:
    """Return the options; remember the commit, and use one thread, so that runs can be repeated.

    With an option `--threads`, use as many as it says.
    """
    options = parser.parse_args()
    describe_code()
    torch.set_num_threads(getattr(options, "threads", 1))
    return options


def write_result(path: Path, *, seed: int, results: Mapping[str, object]) -> None:
    """Write `results` and their origin to a JSON file, atomically.

    A long-running program calls `describe_code` at the start, so that the commit of that moment is
    recorded.
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
    """Return the commit and whether files differed from it, as of the first call.

    Both are None if git is missing or fails, for instance outside a repository.
    """
    commit = _git("rev-parse", "HEAD")
    changes = _git("status", "--porcelain", "--", *CODE)
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def describe_machine() -> dict[str, object]:
    """Return the processor, cores, memory, and system, and how PyTorch uses them.

    Preloaded libraries are recorded because another allocator changes the speed.
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


def describe_processor() -> dict[str, object]:
    """Return the processor's name, family, and model; virtual machines often hide all but the numbers.

    Family and model are available only on Linux on x86; elsewhere they are None.
    """
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    numbers = {name: fields.get(key) for name, key in (("family", "cpu family"), ("model", "model"))}
    return {
        "processor": fields.get("model name") or platform.processor(),
        **{name: None if number is None else int(number) for name, number in numbers.items()},
    }


def result_file(name: str) -> Path:
    """Return the path for speeds measured on this processor, `results/NAME_FAMILY-MODEL.json`.

    The ratio of two speeds depends on the kind of processor, so each kind has its own file.
    """
    processor = describe_processor()
    kind = f"{processor['family']}-{processor['model']}" if processor["family"] else platform.machine()
    return RESULTS / f"{name}_{kind}.json"


def describe_versions() -> dict[str, str | None]:
    """Return the version of each package in `PACKAGES`, or None if it is not installed."""
    versions: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    return versions


def _git(*arguments: str) -> str | None:
    try:
        asked = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return asked.stdout.strip()
