"""A training run ends at the first of its limits, which follow from its settings and its progress."""

import dataclasses

import pytest

from annotated_transformer.checkpointing.training_state_file import Progress
from annotated_transformer.training.limits import completed, is_out_of_patience, is_over
from tests.small_training import BRIEF

LIMITED = dataclasses.replace(BRIEF, steps=40, minutes=2.0, patience=3)


@pytest.mark.parametrize(
    ("progress", "fraction"),
    [
        (Progress(step=10, seconds=0.0), 0.25),
        (Progress(step=10, seconds=60.0), 0.5),
        (Progress(step=40, seconds=60.0), 1.0),
        (Progress(step=1, seconds=180.0), 1.5),
    ],
)
def test_law_the_nearer_limit_counts(progress: Progress, fraction: float):
    assert completed(LIMITED, progress) == fraction
    assert is_over(LIMITED, progress) == (fraction >= 1)


def test_law_a_run_is_out_of_patience_after_so_many_epochs_without_a_lower_loss():
    for epoch, over in ((5, False), (6, False), (7, True), (8, True)):
        progress = Progress(step=epoch, epoch=epoch, best_loss=2.0, best_epoch=4)
        assert is_out_of_patience(LIMITED, progress) == is_over(LIMITED, progress) == over
        assert not is_over(dataclasses.replace(LIMITED, patience=None), progress)
    before_its_first_loss = Progress(step=7, epoch=7)  # of a checkpoint that recorded none
    assert not is_out_of_patience(LIMITED, before_its_first_loss)
