"""Result files record their origin and are written completely or not at all."""

import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import record
from benchmarks.record import describe_code, describe_machine, describe_processor, result_file, write_result


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the path of a git repository with one file."""
    for command in (
        ["init", "--quiet"],
        ["config", "user.name", "A"],
        ["config", "user.email", "a@example.org"],
        ["add", "."],
        ["commit", "--quiet", "--message", "first", "--allow-empty"],
    ):
        (tmp_path / "code.py").write_text("x = 1\n", encoding="utf-8")
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(record, "ROOT", tmp_path)
    describe_code.cache_clear()
    yield tmp_path
    describe_code.cache_clear()


def test_law_the_code_is_described_by_its_commit_and_whether_it_is_dirty(project: Path):
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=project, capture_output=True, text=True)
    results = project / "annotated_transformer" / "book" / "results"
    results.mkdir(parents=True)
    (results / "train.json").write_text("{}", encoding="utf-8")
    (project / "benchmarks").mkdir()
    (project / "benchmarks" / "README.md").write_text("", encoding="utf-8")
    assert describe_code() == {"commit": asked.stdout.strip(), "dirty": False}  # results are not code
    (project / "new.py").write_text("", encoding="utf-8")
    assert not describe_code()["dirty"]  # as of the first call: a long run has read its files by now
    describe_code.cache_clear()
    assert describe_code()["dirty"]


def test_law_a_result_records_command_seed_machine_and_versions(tmp_path, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", "/some/where/libjemalloc.so.2:/else/where/lib.so")
    monkeypatch.setattr(sys, "orig_argv", ["/some/where/python3", "-m", "benchmarks.train", "--out", "a b"])
    write_result(tmp_path / "new" / "x.json", seed=23, results={"α": [1.5]})
    found = json.loads((tmp_path / "new" / "x.json").read_text(encoding="utf-8"))
    assert found["command"] == "python -m benchmarks.train --out 'a b'"
    assert (found["seed"], found["results"]) == (23, {"α": [1.5]})
    assert found["machine"] == describe_machine()
    assert found["machine"]["preloaded"] == ["libjemalloc.so.2", "lib.so"]  # without their folders
    assert found["versions"]["numpy"] == np.__version__
    assert found["machine"]["torch"] == torch.__version__  # with its build, such as 2.13.0+cu130
    assert {"commit", "dirty", "date"} <= set(found)


def test_law_the_processor_is_identified_by_family_and_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    info = tmp_path / "cpuinfo"
    info.write_text(
        "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n\nprocessor\t: 1\n"
    )
    found = describe_processor(info)
    assert found == {"processor": "AMD EPYC", "family": 25, "model": 17}
    monkeypatch.setattr(record, "describe_processor", lambda: found)
    assert result_file("train") == record.RESULTS / "train_25-17.json"
    unknown = describe_processor(tmp_path / "absent")
    assert (unknown["family"], unknown["model"]) == (None, None)
    monkeypatch.setattr(record, "describe_processor", lambda: unknown)
    assert result_file("train").name == f"train_{platform.machine()}.json"


@pytest.mark.message
def test_message_a_nan_result_is_refused_and_leaves_the_older_file(tmp_path: Path):
    path = tmp_path / "x.json"
    write_result(path, seed=0, results={"speed": 1.0})
    before = path.read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_result(path, seed=0, results={"speed": float("nan")})
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["x.json"]
