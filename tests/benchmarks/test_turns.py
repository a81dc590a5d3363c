"""Contestants run in the same order in every round; all speeds are kept; ratios are taken within a round."""

import subprocess
from functools import partial
from pathlib import Path

import pytest

from benchmarks.turns import Contestant, compare, take_turns


def writing(letter: str, path: Path) -> Contestant:
    """Return a contestant that writes a letter in each round, which counts as 7 units."""
    write = partial(subprocess.call, ["sh", "-c", f"printf {letter} >> {path}; exit 7"])
    return Contestant(letter, partial(partial, write))


@pytest.mark.usefixtures("quick_processes")
def test_law_every_contestant_runs_once_per_round_after_a_warm_up_round(tmp_path: Path):
    path = tmp_path / "written"
    found = take_turns([writing("a", path), writing("b", path)], rounds=3)
    assert path.read_text(encoding="utf-8") == "ab" + 3 * "ab"
    for line in found.values():
        assert len(line["per_second"]) == 3
        assert min(line["per_second"]) > 7  # it takes less than a second
        assert line["peak_mb"] > 20


@pytest.mark.usefixtures("quick_processes")
def test_law_speed_does_not_include_waiting_time():
    waiting = partial(subprocess.call, ["sh", "-c", "sleep 0.3; exit 7"])
    found = take_turns([Contestant("waiting", partial(partial, waiting))], rounds=1)
    assert found["waiting"]["per_second"][0] > 10 * 7 / 0.3


def test_law_a_ratio_is_the_median_of_the_per_round_ratios():
    found = {
        "ours, new": {"per_second": [50.0, 40.0, 30.0], "peak_mb": 1},
        "ours, old": {"per_second": [10.0, 40.0, 20.0], "peak_mb": 1},
        "theirs": {"per_second": [10.0, 40.0, 20.0], "peak_mb": 1},  # the machine was idle in one round
        "other": {"absent": "without other"},
    }
    assert compare(found) == {"ours, new": {"theirs": 1.5}, "ours, old": {"theirs": 1.0}}


@pytest.mark.message
@pytest.mark.usefixtures("quick_processes")
def test_message_a_failed_contestant_is_named(tmp_path: Path):
    failing = Contestant("b", partial(int, "no number"))
    with pytest.raises(RuntimeError, match=r"^b failed; see its error message above$"):
        take_turns([writing("a", tmp_path / "written"), failing], rounds=1)
