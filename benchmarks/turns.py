"""Timing of contestants that take turns, round by round, each in its own process on one thread.

Other load on the machine slows all contestants of a round alike. Only CPU time is measured, so waiting does
not count. The meaningful numbers are the ratios within a round.
"""

import importlib.util
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import torch
from tqdm import tqdm

PROCESSES = multiprocessing.get_context("spawn")  # a fork's peak memory would not include shared memory
Round = Callable[[], int]  # does the work once and returns the number of units
Timings = dict[str, dict[str, Any]]  # by contestant


@dataclass(frozen=True)
class Contestant:
    """An implementation to time.

    Attributes:
        name: Those of our implementations start with "ours".
        prepare: Returns a function that does one round; must be picklable.
        needs: Packages that must be installed; otherwise, the contestant is reported as absent.
    """

    name: str
    prepare: Callable[[], Round]
    needs: tuple[str, ...] = ()

    def missing(self) -> list[str]:
        """Return the required packages that are not installed."""
        return [name for name in self.needs if importlib.util.find_spec(name) is None]


def seconds(do_round: Round) -> tuple[int, float]:
    """Return the units that a round has done, and the CPU time that it took."""
    start = time.process_time()
    units = do_round()
    return units, time.process_time() - start


def peak_megabytes() -> float:
    """Return the most memory that this process has used."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def take_turns(contestants: Iterable[Contestant], *, rounds: int) -> Timings:
    """Return each contestant's units per second in every round, and its peak memory.

    For an absent contestant, return which packages are missing. The first round of each is not timed.

    Raises:
        RuntimeError: If a contestant's process ends early.
    """
    timings: Timings = {}
    present = {}
    for contestant in contestants:
        if missing := contestant.missing():
            timings[contestant.name] = {"absent": f"without {', '.join(missing)}"}
        else:
            timings[contestant.name] = {"per_second": []}
            present[contestant.name] = _start(contestant)
    for _ in tqdm(range(rounds), unit=" rounds", disable=None):
        for name, pipe in present.items():
            timings[name]["per_second"].append(round(_ask(name, pipe, "round"), 1))
    for name, pipe in present.items():
        timings[name]["peak_mb"] = round(_ask(name, pipe, "memory"))
    return timings


def compare(timings: Timings) -> dict[str, dict[str, float]]:
    """Return the speedup of each of ours over each peer: the median over the rounds."""
    speeds = {name: line["per_second"] for name, line in timings.items() if "per_second" in line}
    return {
        ours: {
            peer: round(statistics.median(a / b for a, b in zip(speeds[ours], speeds[peer], strict=True)), 2)
            for peer in speeds
            if not peer.startswith("ours")
        }
        for ours in speeds
        if ours.startswith("ours")
    }


def _start(contestant: Contestant) -> Connection:
    """Start a contestant's process, and wait until it has warmed up."""
    here, there = PROCESSES.Pipe()
    PROCESSES.Process(target=_serve, args=(contestant.prepare, there), daemon=True).start()
    there.close()  # so that `recv` fails here if the process ends
    _answer(contestant.name, here)
    return here


def _ask(name: str, pipe: Connection, what: str) -> float:
    pipe.send(what)
    return _answer(name, pipe)


def _answer(name: str, pipe: Connection) -> float:
    try:
        return pipe.recv()
    except EOFError:
        raise RuntimeError(f"{name} failed; see its error message above") from None


def _serve(prepare: Callable[[], Round], pipe: Connection) -> None:
    """Do a round for each request."""
    torch.set_num_threads(1)
    do_round = prepare()
    seconds(do_round)
    pipe.send(0.0)
    with suppress(EOFError):  # the parent stops when another contestant has failed
        while pipe.recv() == "round":
            units, spent = seconds(do_round)
            pipe.send(units / spent)
        pipe.send(peak_megabytes())
