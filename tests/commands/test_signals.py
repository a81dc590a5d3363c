"""Signals raise immediately, or request that a training run stop."""

import os
import signal

import pytest

from annotated_transformer.commands import signals
from annotated_transformer.commands.signals import (
    SIGNALS,
    StopRequest,
    Terminated,
    handle_signals,
    raise_signal,
)

RAISED = {number: KeyboardInterrupt if number == signal.SIGINT else Terminated for number in SIGNALS}


def send(number: int) -> BaseException | None:
    """Send a signal to this process, and return the handler's exception, which would end pytest."""
    try:
        os.kill(os.getpid(), number)
        for _ in range(1000):  # handlers run between instructions
            pass
    except (KeyboardInterrupt, Terminated) as error:
        return error
    return None


@pytest.mark.parametrize(("number", "kind"), RAISED.items())
def test_law_each_signal_has_its_exception(number: int, kind: type[BaseException]):
    before = {each: signal.getsignal(each) for each in SIGNALS}
    with handle_signals(raise_signal):
        raised = send(number)
    assert type(raised) is kind
    assert getattr(raised, "signal", signal.SIGINT) == number
    signal.signal(number, signal.SIG_IGN)  # as under nohup
    try:
        with handle_signals(raise_signal):
            assert send(number) is None
    finally:
        signal.signal(number, before[number])
    assert {each: signal.getsignal(each) for each in SIGNALS} == before


@pytest.mark.parametrize(("number", "kind"), RAISED.items())
def test_law_the_first_signal_waits_for_the_next_update_and_a_second_one_raises(number, kind, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(signals.time, "monotonic", lambda: now[0])
    stop = StopRequest()
    with handle_signals(stop.note):
        assert type(send(number)) is kind  # not polled yet
        assert not stop()
        assert send(number) is None
        assert stop()
        now[0] += 0.5
        assert send(number) is None  # `timeout` sends each signal twice
        assert stop.signal == number
        now[0] += 1.0
        assert type(send(number)) is kind
