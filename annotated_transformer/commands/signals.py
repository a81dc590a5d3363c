"""What SIGINT (Ctrl-C) and SIGTERM do to a command."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 1.0  # seconds in which a repeated signal is the same request: `timeout` sends each twice


class Terminated(BaseException):
    """SIGTERM arrived, as KeyboardInterrupt says of SIGINT."""


def exit_status(error: KeyboardInterrupt | Terminated) -> int:
    """Return 130 for SIGINT and 143 for SIGTERM, as a shell does."""
    return 128 + (signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT)


def raise_signal(number: int, frame: FrameType | None = None) -> NoReturn:
    """Raise the exception that stands for a signal."""
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


@contextmanager
def handle_signals(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Have `handler` called on SIGINT and SIGTERM; a signal that is ignored, as by nohup, stays so.

    Only the main thread may do this; in another one, nothing changes.
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
    """Whether SIGINT or SIGTERM asked a training run to stop, for `train` to call between two updates.

    Before the first call nothing would answer the request, so a signal raises its exception at
    once. So does a second signal, for a user who does not want to wait for the checkpoint.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._polled, self._since = False, 0.0

    def __enter__(self) -> "StopRequest":
        """Begin to listen."""
        self._handling = handle_signals(self._note)
        self._handling.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give signals back to who had them."""
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
