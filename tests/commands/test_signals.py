"""What a signal does to a command: it raises at once, or asks a training run to stop."""

import os
import signal
import threading

import pytest

from annotated_transformer.commands import signals
from annotated_transformer.commands.signals import (
    SIGNALS,
    StopRequest,
    Terminated,
    exit_status,
    handle_signals,
    raise_signal,
)

RAISED = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: Terminated}


def send(number: int) -> None:
    os.kill(os.getpid(), number)
    for _ in range(1000):  # a handler runs between two instructions
        pass


@pytest.mark.parametrize(("number", "kind"), RAISED.items())
def test_law_each_signal_has_its_exception_and_its_status(number: int, kind: type[BaseException]):
    with pytest.raises(kind) as raised, handle_signals(raise_signal):
        send(number)
    assert exit_status(raised.value) == 128 + number


@pytest.mark.parametrize("number", SIGNALS)
def test_law_an_ignored_signal_stays_ignored_and_handlers_are_given_back(number: int):
    before = {each: signal.getsignal(each) for each in SIGNALS}
    signal.signal(number, signal.SIG_IGN)
    try:
        with handle_signals(raise_signal):
            send(number)
            assert {each: signal.getsignal(each) for each in SIGNALS if each != number} == {
                each: raise_signal for each in SIGNALS if each != number
            }
    finally:
        signal.signal(number, before[number])
    assert {each: signal.getsignal(each) for each in SIGNALS} == before


def test_law_another_thread_leaves_signals_alone():
    seen = []

    def work() -> None:
        with handle_signals(raise_signal):
            seen.append([signal.getsignal(number) for number in SIGNALS])

    before = [signal.getsignal(number) for number in SIGNALS]
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


@pytest.mark.parametrize(("number", "kind"), RAISED.items())
def test_law_a_signal_waits_for_the_next_update_and_a_second_one_does_not(
    number: int, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
):
    now = [100.0]
    monkeypatch.setattr(signals.time, "monotonic", lambda: now[0])
    with StopRequest() as stop:
        with pytest.raises(kind):
            send(number)  # nothing has asked yet
        assert not stop()
        send(number)
        assert stop()
        now[0] += 0.5
        send(number)  # `timeout` sends each signal twice
        assert stop()
        assert stop.signal == number
        now[0] += 1.0
        with pytest.raises(kind):
            send(number)
