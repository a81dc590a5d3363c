"""The benchmark of the ladder of stacks, and what its result has to hold."""

from pathlib import Path

import pytest

from annotated_transformer.book.chapters.from_here_to_modern_models.stacks import LADDER
from annotated_transformer.book.results import read_result
from benchmarks import modern_stacks


def test_law_printed_runs_are_read_again(tmp_path: Path):
    log = tmp_path / "log"
    log.write_text("2017 {'max_lr': 0.01, 'seed': 1}\nloading\ngrouped queries {'max_lr': 0.02, 'seed': 0}\n")
    done = modern_stacks.read_done(log)
    assert list(done) == list(LADDER)
    assert done["2017"] == [{"max_lr": 0.01, "seed": 1}]
    assert done["grouped queries"][0]["max_lr"] == 0.02
    assert done["rotary"] == []


def test_law_the_result_has_each_stack_with_two_rates_or_more_and_three_seeds_each():
    stacks = read_result("modern_stacks")["stacks"]
    assert list(stacks) == list(LADDER)
    for runs in stacks.values():
        rates = {run["max_lr"] for run in runs}
        assert rates >= {0.005, 0.01}
        for rate in rates:
            assert sorted(run["seed"] for run in runs if run["max_lr"] == rate) == [0, 1, 2]
        assert runs[0]["parameters"] == pytest.approx(stacks["2017"][0]["parameters"], rel=0.005)
