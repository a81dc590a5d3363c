"""Memory freed by tensors stays in the process, so that the next tensors cause no page faults."""

import platform
import subprocess
import sys

import pytest

from annotated_transformer.fast import modules

SCRIPT = """
import resource, torch
from annotated_transformer.fast.modules import keep_freed_memory

def faults() -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(2**24)  # 64 MB, which glibc always maps from the system and returns to it
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
print(min(faults() for _ in range(3)))
keep_freed_memory()
faults()
print(min(faults() for _ in range(20)))  # small blocks may be in the way at first
"""


def test_law_memory_that_was_freed_is_used_again_without_page_faults():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=300
    )
    by_default, kept = map(int, done.stdout.split())
    if platform.libc_ver()[0] == "glibc":  # elsewhere, it only has to run
        pages = 64 * 2**20 // 4096
        assert by_default > pages // 4
        assert kept < pages // 100


def test_law_keep_freed_memory_loads_no_library_on_windows(monkeypatch: pytest.MonkeyPatch):
    def refuse(name: None) -> None:
        raise TypeError("LoadLibrary() argument 1 must be str, not None")

    monkeypatch.setattr(modules.ctypes, "CDLL", refuse)
    monkeypatch.setattr(modules.sys, "platform", "win32")
    modules.keep_freed_memory()


def test_law_keep_freed_memory_does_nothing_without_glibc(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(modules.ctypes, "CDLL", lambda name: object())
    modules.keep_freed_memory()
