"""The clock of a training run."""

import functools
import itertools

from annotated_transformer.training import stopwatch
from annotated_transformer.training.stopwatch import Stopwatch


def test_law_a_resumed_run_continues_the_clock_and_measures_its_own_speed(monkeypatch):
    monkeypatch.setattr(stopwatch.time, "monotonic", functools.partial(next, itertools.count(1000.0, 2.0)))
    session = Stopwatch(60.0)
    assert (session.lap(50), session.tokens_per_second) == (62.0, 25.0)
    assert (session.lap(70), session.tokens_per_second) == (64.0, 30.0)
