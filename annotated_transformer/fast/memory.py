"""Memory that is reused from batch to batch: for the fast path of training."""

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
ALWAYS = 2**31 - 1  # bytes, the largest that mallopt takes


def keep_freed_memory() -> None:
    """Let this process keep the memory that tensors free, for the tensors of the next batch.

    By default, glibc returns large blocks to the system, and the first write to each page of a new block
    costs a page fault: we counted up to 20,000 for a batch. With this setting, the process keeps its peak
    memory, or more if small blocks fragment the large ones. Without glibc, this does nothing.
    """
    if sys.platform == "win32":
        return  # CDLL(None) is an error there
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, ALWAYS)
        mallopt(M_TRIM_THRESHOLD, ALWAYS)
