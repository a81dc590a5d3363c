"""Each suspect is wrong at one step, and runs without an error."""

import pytest

from annotated_transformer.book.chapters.the_same_as_pytorch.steps import first_above, step_gaps, steps
from annotated_transformer.book.chapters.the_same_as_pytorch.suspects import suspect

FIRST = [
    "decoder 2: cross-attention",
    "encoder 2: norm 2",
    "decoder 1: self-attention",
    "decoder 2: norm 3",
]


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_law_a_suspect_first_differs_at_its_step(twins, ids, number):
    ours, theirs = twins
    found = step_gaps(suspect(ours, number), theirs, steps(2), *ids)
    assert first_above(found, 1e-10) == FIRST[number - 1]


@pytest.mark.message
@pytest.mark.parametrize("number", [0, 5])
def test_message_there_is_no_such_suspect(twins, number):
    with pytest.raises(ValueError, match=f"number={number} is no suspect; choose from 1 to 4"):
        suspect(twins[0], number)
