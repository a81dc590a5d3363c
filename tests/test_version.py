"""The version is written in pyproject.toml, and everything else reads it from the installed metadata."""

import importlib.metadata
import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import annotated_transformer

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SCRIPT = Path(sys.executable).parent / "annotated-transformer"


def test_law_the_version_comes_from_the_metadata(monkeypatch: pytest.MonkeyPatch):
    installed = importlib.metadata.version("annotated-transformer")
    assert annotated_transformer.__version__ == installed == PROJECT["version"]

    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    package = str(ROOT / "annotated_transformer" / "__init__.py")
    assert runpy.run_path(package)["__version__"] == "unknown"


def test_law_the_version_is_written_once():
    assert "dynamic" not in PROJECT
    written = re.compile(rf"\b{re.escape(PROJECT['version'])}\b")
    files = sorted((ROOT / "annotated_transformer").rglob("*.py"))
    assert [path.name for path in files if written.search(path.read_text(encoding="utf-8"))] == []
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["version"]  # the format cannot refer to another file


def test_law_the_console_script_prints_its_name_and_version():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        [SCRIPT, "--version"], capture_output=True, text=True, check=True, env=environment
    )
    assert process.stdout == f"annotated-transformer {PROJECT['version']}\n"
