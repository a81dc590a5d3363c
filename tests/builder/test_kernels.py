"""Kernels that are copies of one process: they run cells, stop on request, and end with the tests."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from jupyter_client.manager import KernelManager

from builder import kernels

START = """
import time
from builder import kernels
from jupyter_client.manager import KernelManager

kernels.IMPORTED[:] = [kernels.__name__]
kernels.start_as_copies()
manager = KernelManager()
manager.start_kernel()
print(manager.provisioner.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def manager(monkeypatch, tmp_path: Path) -> Iterator[KernelManager]:
    monkeypatch.setattr(kernels, "IMPORTED", [kernels.__name__])
    monkeypatch.setattr(kernels.local_provisioner, "launch_kernel", kernels.Kernel)
    manager = KernelManager()
    manager.start_kernel(cwd=str(tmp_path), env={**os.environ, "SAID": "hello"})
    yield manager
    manager.shutdown_kernel(now=True)


def test_law_a_kernel_has_its_folder_and_environment_and_its_own_group(manager, tmp_path: Path):
    pid = manager.provisioner.pid
    assert os.getpgid(pid) == os.getsid(pid) == pid
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    heard: list[str] = []
    code = "import os, sys; print(os.getcwd(), os.environ['SAID'], sys.argv[1], __name__)"
    client.execute_interactive(code, output_hook=lambda message: heard.append(message["content"].get("text")))
    client.stop_channels()
    assert f"{tmp_path} hello -f __main__\n" in heard
    manager.shutdown_kernel(now=True)
    assert not psutil.pid_exists(pid)


def test_law_a_kernel_ends_with_the_process_that_started_it(root: Path):
    with subprocess.Popen(
        [sys.executable, "-c", START], cwd=root, stdout=subprocess.PIPE, text=True
    ) as parent:
        pid = int(parent.stdout.readline())
        assert psutil.pid_exists(pid)
        parent.send_signal(signal.SIGKILL)
    limit = time.monotonic() + 60
    while psutil.pid_exists(pid) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not psutil.pid_exists(pid)
