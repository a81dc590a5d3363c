"""A fixture that makes processes start quickly: they are forks of a server that has imported PyTorch."""

import multiprocessing

import pytest

from benchmarks import turns


@pytest.fixture
def quick_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork contestants from a server; this counts too little memory, but starts at once."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(
        ["torch._dynamo", "benchmarks.train", "benchmarks.decode", "benchmarks.translate"]
    )
    monkeypatch.setattr(turns, "PROCESSES", server)
