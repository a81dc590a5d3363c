"""Contestants that take turns: each in a process of its own, round by round, on one thread.

What else the machine does slows all of them alike, and time is counted by the processor's clock, so
that waiting costs nothing. The ratios within a round are what counts.
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

PROCESSES = multiprocessing.get_context("spawn")  # a fork would not count the memory it shares
Round = Callable[[], int]  # does the work once, and returns how many units it was
Found = dict[str, dict[str, Any]]  # of each contestant


@dataclass(frozen=True)
class Contestant:
    """Who can do the work.

    Attributes:
        name: Ours begin with "ours".
        prepare: Returns what does a round; must be picklable.
        needs: Packages without which it is absent.
    """

    name: str
    prepare: Callable[[], Round]
    needs: tuple[str, ...] = ()

    def missing(self) -> list[str]:
        """Return the packages that it needs and that are not installed."""
        return [name for name in self.needs if importlib.util.find_spec(name) is None]


def take_turns(contestants: Iterable[Contestant], *, rounds: int) -> Found:
    """Return for each contestant its units per second in every round, and its peak memory.

    Of one that is absent, it says what is missing. A round that nobody times comes first.

    Raises:
        RuntimeError: If a contestant's process ends early.
    """
    found: Found = {}
    present = {}
    for contestant in contestants:
        if missing := contestant.missing():
            found[contestant.name] = {"absent": f"without {', '.join(missing)}"}
        else:
            found[contestant.name] = {"per_second": []}
            present[contestant.name] = _start(contestant)
    for _ in tqdm(range(rounds), unit=" rounds", disable=None):
        for name, pipe in present.items():
            found[name]["per_second"].append(round(_ask(name, pipe, "round"), 1))
    for name, pipe in present.items():
        found[name]["peak_mb"] = round(_ask(name, pipe, "memory"))
    return found


def compare(found: Found) -> dict[str, dict[str, float]]:
    """Return how many times as fast as each peer each of ours is: the median over the rounds."""
    speeds = {name: line["per_second"] for name, line in found.items() if "per_second" in line}
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
    """Start a contestant's process, and wait until it is warm."""
    here, there = PROCESSES.Pipe()
    PROCESSES.Process(target=_serve, args=(contestant.prepare, there), daemon=True).start()
    there.close()  # so that a process that ends is noticed here
    _answer(contestant.name, here)
    return here


def _ask(name: str, pipe: Connection, what: str) -> float:
    pipe.send(what)
    return _answer(name, pipe)


def _answer(name: str, pipe: Connection) -> float:
    try:
        return pipe.recv()
    except EOFError:
        raise RuntimeError(f"{name} has failed; its own message stands above") from None


def _serve(prepare: Callable[[], Round], pipe: Connection) -> None:
    """Do a round whenever asked for one."""
    torch.set_num_threads(1)
    do_round = prepare()
    do_round()
    pipe.send(0.0)
    with suppress(EOFError):  # nobody asks any more where another has failed
        while pipe.recv() == "round":
            start = time.process_time()
            units = do_round()
            pipe.send(units / (time.process_time() - start))
        pipe.send(_peak_megabytes())


def _peak_megabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6
