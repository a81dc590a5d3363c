"""Handling of SIGINT (Ctrl-C) and SIGTERM."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
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
    with ExitStack() as restored:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if (old := signal.getsignal(number)) not in (signal.SIG_IGN, None):
                    restored.callback(signal.signal, number, old)
                    signal.signal(number, handler)
        yield


class StopRequest:
    """The `stop` argument of `train`: returns whether SIGINT or SIGTERM has arrived.

    Until `train` calls it for the first time, a signal raises its exception immediately. So does a
    second signal, for a user who does not want to wait for the checkpoint.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._polled, self._since = False, 0.0

    def __call__(self) -> bool:
        """Return whether a signal has arrived."""
        self._polled = True
        return self.signal is not None

    def note(self, number: int, frame: FrameType | None = None) -> None:
        """Note a signal, or raise its exception."""
        if not self._polled:
            raise_signal(number)
        if self.signal is None:
            self.signal, self._since = number, time.monotonic()
        elif time.monotonic() - self._since > PATIENCE:
            raise_signal(number)
