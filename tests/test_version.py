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


def imported_again() -> str:
    """Return the `__version__` that a fresh import of the package gives."""
    return runpy.run_path(str(ROOT / "annotated_transformer" / "__init__.py"))["__version__"]


def test_law_the_version_comes_from_the_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    installed = importlib.metadata.version("annotated-transformer")
    assert annotated_transformer.__version__ == installed == PROJECT["version"]
    folder = tmp_path / "annotated_transformer-7.11.13.dist-info"
    folder.mkdir()
    text = "Metadata-Version: 2.1\nName: annotated-transformer\nVersion: 7.11.13\n"
    (folder / "METADATA").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert imported_again() == "7.11.13"


def test_law_without_metadata_the_package_can_still_be_imported(monkeypatch: pytest.MonkeyPatch):
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert imported_again() == "unknown"


def test_law_the_version_is_written_once():
    assert "dynamic" not in PROJECT
    named = re.compile(rf"\b{re.escape(PROJECT['version'])}\b")
    files = sorted((ROOT / "annotated_transformer").rglob("*.py"))
    assert [path.name for path in files if named.search(path.read_text(encoding="utf-8"))] == []
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["version"]  # the format cannot refer to another file


def test_law_the_console_script_prints_its_name_and_version():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([SCRIPT, "--version"], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == f"annotated-transformer {PROJECT['version']}\n"
