"""Hooks for a while: in one thread alone, and on modules that `torch.compile` wrapped, too."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from threading import RLock
from typing import Any

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from annotated_transformer.model.plain import OwnHook

LOCK = RLock()  # of contexts: an abandoned one may end while its thread begins another


class _Uncompiled:
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


_UNCOMPILED = _Uncompiled()


def calling_hooks() -> AbstractContextManager[object]:
    """Run compiled modules as they are written: compiled code ignores hooks that were added later."""
    if "torch._dynamo" not in sys.modules:
        return nullcontext()  # nothing was compiled, and the import would take seconds
    if torch.compiler.is_compiling():
        return nullcontext()  # of a caller, with the hooks that it registers
    return _UNCOMPILED


@contextmanager
def hooking(
    register: Callable[..., RemovableHandle], hook: Callable[..., Any]
) -> Iterator[None]:
    """Register a hook inside the `with` block that runs in this thread alone.

    Other threads use the model as if it had none: see `plain.any_hook`.
    """
    hook = OwnHook(hook)
    with LOCK:  # PyTorch may give two hooks of a module one number
        handle = register(hook)
    try:
        with calling_hooks():
            yield
    finally:
        handle.remove()


@contextmanager
def collecting(modules: Iterable[nn.Module]) -> Iterator[list[Any]]:
    """Collect what modules return to this thread, in the order of their calls."""
    outputs: list[Any] = []
    with ExitStack() as hooks:
        for module in modules:
            keep = hooking(
                module.register_forward_hook, lambda _, args, out: outputs.append(out)
            )
            hooks.enter_context(keep)
        yield outputs
