"""A small copy of the project, to be broken without harm."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> Path:
    """Return a copy of the package, the builder and what `make` needs, with no chapter in it."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(root / name, tmp_path)
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(root / "annotated_transformer", tmp_path / "annotated_transformer", ignore=skip)
    (tmp_path / "chapters" / "src").mkdir(parents=True)
    for name in ("build.py", "nbval_sanitize.cfg"):
        shutil.copy(root / "chapters" / name, tmp_path / "chapters")
    return tmp_path


@pytest.fixture
def run(copy: Path) -> Run:
    """Run a command in the copy, with the copy's package; its output is one text."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "MAKE", "MFLAGS"))
    }

    def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=copy,
            env={**clean, "PYTHONPATH": str(copy)},
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    return run


@pytest.fixture
def build(run: Run) -> Run:
    """Run the builder in the copy."""
    return lambda *arguments: run(sys.executable, "chapters/build.py", *arguments)
