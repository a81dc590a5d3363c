"""Handling of the signals by which a person, a terminal, or a scheduler ends a program."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import NoReturn

NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGXCPU")  # Windows lacks some
SIGNALS = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))
PATIENCE = 1.0  # seconds in which a repeated signal counts as one: `timeout` sends each twice


class Terminated(BaseException):
    """Raised on the other signals, as KeyboardInterrupt is on SIGINT (Ctrl-C)."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


def raise_signal(number: int, frame: FrameType | None = None) -> NoReturn:
    """Raise the exception of a signal."""
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)


@contextmanager
def handle_signals(handler: Callable[[int, FrameType | None], object] | int) -> Iterator[None]:
    """Call `handler` on each of `SIGNALS`; those that are ignored, as SIGHUP under nohup, stay ignored.

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
    """The `stop` argument of `train`: returns whether one of `SIGNALS` has arrived.

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
