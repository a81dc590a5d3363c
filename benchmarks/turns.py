"""Timing of contestants that take turns, round by round, each in its own process on one thread.

Other load on the machine slows all contestants of a round alike. On a CPU, only CPU time is measured, so
waiting does not count; on a CUDA device, the time between two events of its stream. The meaningful numbers
are the ratios within a round.
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
from typing import Any, Protocol

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


class Meter(Protocol):
    """Measures the time and the memory of a contestant."""

    def seconds(self, do_round: Round) -> tuple[int, float]:
        """Return the units that a round has done, and the seconds that it took."""

    def peak_megabytes(self) -> float:
        """Return the most memory that was in use."""


class ProcessorMeter:
    """Measures CPU time, and the memory of the whole process."""

    def seconds(self, do_round: Round) -> tuple[int, float]:
        """Return the units that a round has done, and the seconds that it took."""
        start = time.process_time()
        units = do_round()
        return units, time.process_time() - start

    def peak_megabytes(self) -> float:
        """Return the most memory that was in use."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


class CudaMeter:
    """Measures the time on the CUDA device, waiting for the CPU included, and the memory of its tensors."""

    def seconds(self, do_round: Round) -> tuple[int, float]:
        """Return the units that a round has done, and the seconds that it took."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        units = do_round()
        end.record()
        end.synchronize()
        if torch.cuda.memory_reserved() > SPARED:
            torch.cuda.empty_cache()  # the others need the memory, too
        return units, start.elapsed_time(end) / 1000

    def peak_megabytes(self) -> float:
        """Return the most memory that was in use."""
        return torch.cuda.max_memory_allocated() / 1e6


SPARED = 2**32  # bytes of a card that a contestant may keep between rounds
METERS: dict[str, Meter] = {"cpu": ProcessorMeter(), "cuda": CudaMeter()}


def take_turns(contestants: Iterable[Contestant], *, rounds: int, device: str = "cpu") -> Timings:
    """Return each contestant's units per second in every round, and its peak memory, on a device of `METERS`.

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
            present[contestant.name] = _start(contestant, device)
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


def _start(contestant: Contestant, device: str) -> Connection:
    """Start a contestant's process, and wait until it has warmed up."""
    here, there = PROCESSES.Pipe()
    PROCESSES.Process(target=_serve, args=(contestant.prepare, there, device), daemon=True).start()
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


def _serve(prepare: Callable[[], Round], pipe: Connection, device: str) -> None:
    """Do a round for each request."""
    torch.set_num_threads(1)
    do_round, meter = prepare(), METERS[device]
    meter.seconds(do_round)
    pipe.send(0.0)
    with suppress(EOFError):  # the parent stops when another contestant has failed
        while pipe.recv() == "round":
            units, seconds = meter.seconds(do_round)
            pipe.send(units / seconds)
        pipe.send(meter.peak_megabytes())
