"""Each suspect is wrong at one step, and runs without an error."""

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer.book.chapters.the_same_as_pytorch.steps import first_above, step_gaps, steps
from annotated_transformer.book.chapters.the_same_as_pytorch.suspects import WithoutMean, suspect

FIRST = ["decoder 2: cross-attention", "encoder 2: norm 2", "decoder 1: self-attention", "decoder 2: norm 3"]


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_law_a_suspect_first_differs_at_its_step(twins, ids, number):
    ours, theirs = twins
    found = step_gaps(suspect(ours, number), theirs, steps(2), *ids)
    assert first_above(found, 1e-10) == FIRST[number - 1]


def test_law_a_token_of_suspect_3_reads_the_next_one_and_no_later_one(twins, ids):
    src, tgt = ids
    model = suspect(twins[0], 3)
    before, others = model(src, tgt)[0, 1], []
    for place in (2, 3):
        other = tgt.clone()
        other[0, place] = tgt[0, place] % 19 + 3
        others.append(model(src, other)[0, 1])
    assert (others[0] - before).abs().max() > 1e-3
    torch.testing.assert_close(others[1], before, rtol=1e-12, atol=1e-12)


def test_oracle_the_norm_of_suspect_4_is_a_norm_by_the_mean_square():
    norm = WithoutMean(7).double()
    x = torch.randn(3, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(norm(x), F.rms_norm(x, (7,), eps=norm.eps))


@pytest.mark.message
@pytest.mark.parametrize("number", [0, 5])
def test_message_there_is_no_such_suspect(twins, number):
    with pytest.raises(ValueError, match=f"number={number} is no suspect; choose from 1 to 4"):
        suspect(twins[0], number)
