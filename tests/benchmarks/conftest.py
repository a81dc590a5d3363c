"""Processes for the benchmarks' tests: forks of one that has imported PyTorch, for that takes longest."""

import multiprocessing

import pytest

from benchmarks import turns


@pytest.fixture
def quick_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let contestants be forks of a server; that counts too little memory, but starts at once."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["torch._dynamo", "benchmarks.train", "benchmarks.decode"])
    monkeypatch.setattr(turns, "PROCESSES", server)
