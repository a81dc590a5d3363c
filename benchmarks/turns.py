"""Timing of contestants that take turns, round by round, each in its own process on one thread.

Other load on the machine slows all contestants of a round. Only CPU time is measured, so waiting does not
count. The meaningful numbers are the ratios within a round.
"""

import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from typing import Any

import torch
from tqdm import tqdm

PROCESSES = multiprocessing.get_context("spawn")  # a fork's peak memory would not include shared memory
Round = Callable[[], int]  # does the work once and returns the number of units
Timings = dict[str, dict[str, Any]]  # by contestant
_do_round: Round  # of this process's contestant


def take_turns(contestants: Mapping[str, Callable[[], Round]], *, rounds: int) -> Timings:
    """Return each contestant's units per second in every round, and its peak memory.

    A contestant is a function that can be pickled and returns one that does a round. The first round of each
    is not timed.
    """
    timings: Timings = {}
    with ExitStack() as stack:
        processes = {
            name: stack.enter_context(ProcessPoolExecutor(1, PROCESSES, _warm_up, (prepare,)))
            for name, prepare in contestants.items()
        }
        for name, process in processes.items():
            process.submit(peak_megabytes).result()  # waits until it has warmed up
            timings[name] = {"per_second": []}
        for _ in tqdm(range(rounds), unit=" rounds", disable=None):
            for name, process in processes.items():
                timings[name]["per_second"].append(round(process.submit(_units_per_second).result(), 1))
        for name, process in processes.items():
            timings[name]["peak_mb"] = round(process.submit(peak_megabytes).result())
    return timings


def compare(timings: Timings) -> dict[str, dict[str, float]]:
    """Return the speedup of each of ours over each peer: the median over the rounds."""
    speeds = {name: timing["per_second"] for name, timing in timings.items()}
    return {
        ours: {
            peer: round(statistics.median(a / b for a, b in zip(speeds[ours], speeds[peer], strict=True)), 2)
            for peer in speeds
            if not peer.startswith("ours")
        }
        for ours in speeds
        if ours.startswith("ours")
    }


def peak_megabytes() -> float:
    """Return the most memory that this process has used."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def _warm_up(prepare: Callable[[], Round]) -> None:
    """Do the first round of a contestant's process, and keep the function for the others."""
    global _do_round
    torch.set_num_threads(1)
    _do_round = prepare()
    _do_round()


def _units_per_second() -> float:
    start = time.process_time()
    units = _do_round()
    return units / (time.process_time() - start)
