"""Handling of SIGINT (Ctrl-C) and SIGTERM."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 1.0  # seconds in which a repeated signal counts as one: `timeout` sends each twice


class Terminated(BaseException):
    """Raised on SIGTERM, as KeyboardInterrupt is on SIGINT."""


def exit_status(error: KeyboardInterrupt | Terminated) -> int:
    """Return 130 for SIGINT and 143 for SIGTERM, as a shell does."""
    return 128 + (signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT)


def raise_signal(number: int, frame: FrameType | None = None) -> NoReturn:
    """Raise the exception of a signal."""
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


@contextmanager
def handle_signals(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Call `handler` on SIGINT and SIGTERM; signals that are ignored, as under nohup, stay ignored.

    Only the main thread can set handlers; in another thread, nothing changes.
    """
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in SIGNALS}
    handlers = {number: old for number, old in handlers.items() if old not in (signal.SIG_IGN, None)}
    try:
        for number in handlers:
            signal.signal(number, handler)
        yield
    finally:
        for number, old in handlers.items():
            signal.signal(number, old)


class StopRequest:
    """The `stop` argument of `train`: returns whether SIGINT or SIGTERM has arrived.

    Until `train` calls it for the first time, a signal raises its exception immediately. So does a
    second signal, for a user who does not want to wait for the checkpoint.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._polled, self._since = False, 0.0

    def __enter__(self) -> "StopRequest":
        """Set the signal handlers."""
        self._handling = handle_signals(self._note)
        self._handling.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore the previous signal handlers."""
        self._handling.__exit__(kind, error, trace)

    def __call__(self) -> bool:
        """Return whether a signal has arrived."""
        self._polled = True
        return self.signal is not None

    def _note(self, number: int, frame: FrameType | None) -> None:
        if not self._polled:
            raise_signal(number)
        if self.signal is None:
            self.signal, self._since = number, time.monotonic()
        elif time.monotonic() - self._since > PATIENCE:
            raise_signal(number)
