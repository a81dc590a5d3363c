"""Running modules that `torch.compile` wrapped as they are written, in all threads."""

from contextlib import AbstractContextManager, nullcontext
from threading import RLock

import torch

LOCK = RLock()  # of contexts: an abandoned one may end while its thread begins another


class Uncompiled:
    """Run no compiled code in this process until the last of the contexts that overlap, as in threads, ends.

    PyTorch restores what was in force when a context began: for the second of two that overlap, the first.
    """

    def __init__(self) -> None:
        self.inside = 0
        self.begun: AbstractContextManager[object] = nullcontext()

    def __enter__(self) -> None:
        with LOCK:
            if self.inside == 0:
                self.begun = torch.compiler.set_stance("force_eager")
                self.begun.__enter__()
            self.inside += 1

    def __exit__(self, *error: object) -> None:
        with LOCK:
            self.inside -= 1
            if self.inside == 0:
                self.begun.__exit__(None, None, None)


UNCOMPILED = Uncompiled()
