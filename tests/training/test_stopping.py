"""A stopped training run ends, once resumed, as if it had not been stopped."""

from collections.abc import Callable
from pathlib import Path

import pytest

from annotated_transformer.checkpointing.run_directory import RunDirectory
from annotated_transformer.checkpointing.training_state import read_progress
from annotated_transformer.text.batching import Pair
from annotated_transformer.training.trainer import TrainingStopped
from tests.tiny_run import STEPS, Run, lines, same


@pytest.mark.usefixtures("unchecked")
def test_law_a_run_stopped_on_request_gives_the_same_model_when_resumed(
    run: Run, tmp_path: Path, copy_pairs: Callable[..., list[Pair]]
):
    validation = copy_pairs(5, seed=1)
    with RunDirectory(tmp_path / "whole") as run_directory:
        expected, _ = run(run_directory, validation=validation)
    for first in range(STEPS - 1):  # at the first update, at the ends of epochs, and within them
        folder, step = tmp_path / f"stopped at {first}", 0
        for updates in (first, 1):
            asked = iter([False] * updates + [True])
            with (
                RunDirectory(folder, seconds=1e9) as run_directory,
                pytest.raises(TrainingStopped) as stopped,
            ):
                run(run_directory, validation=validation, stop=lambda asked=asked: next(asked))
            step += updates
            assert stopped.value.step == read_progress(folder).step == run_directory.step == step
        with RunDirectory(folder, seconds=1e9) as run_directory:
            found, reports = run(run_directory, validation=validation)
        assert same(found, expected)
        assert reports[-1].step == STEPS
        assert lines(folder) == lines(tmp_path / "whole")


@pytest.mark.message
def test_message_a_run_stopped_on_request_names_its_last_step(run: Run):
    message = "the training run was asked to stop, and did after step 3$"
    asked = iter([False, False, False, True])
    with pytest.raises(TrainingStopped, match=message):
        run(None, stop=lambda: next(asked))
