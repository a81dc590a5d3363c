"""Each mistake changes the model it is made in, first at its own step, and leaves the original alone."""

import pytest
import torch

from annotated_transformer.book.chapters.the_same_as_pytorch.mistakes import (
    MISTAKES,
    with_detached_residuals,
    with_mistake,
)
from annotated_transformer.book.chapters.the_same_as_pytorch.steps import first_above, step_gaps, steps

ATTENTION, NORM = "encoder 1: self-attention", "encoder 1: norm 1"
FIRST = {
    "masks inverted": ATTENTION,
    "source padding not masked": "decoder 1: cross-attention",
    "scaled twice": ATTENTION,
    "query and key exchanged": ATTENTION,
    "heads interleaved": ATTENTION,
    "matrix transposed": ATTENTION,
    "biases left at 0": ATTENTION,
    "halves, not pairs": "embedding + positions",
    "pre-norm": ATTENTION,
    "no final norms": "encoder: final norm",
    "deviation by n − 1": NORM,
    "dropout left on": "embedding + positions",
    "GELU by tanh": "encoder 1: feed-forward",
    "eps of 1e-6": NORM,
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_law_a_mistake_first_shows_at_its_own_step(twins, ids, mistake):
    ours, theirs = twins
    torch.manual_seed(0)
    if mistake == "no final norms":  # the step is the norm's, which is gone
        wrong = with_mistake(ours, mistake)
        assert not [name for name in wrong.state_dict() if "final_norm" in name]
    found = step_gaps(with_mistake(ours, mistake), theirs, steps(2), *ids)
    assert first_above(found, 1e-10) == FIRST[mistake]
    assert found["decoder: final norm"] > 1e-8
    assert first_above(step_gaps(ours, theirs, steps(2), *ids), 1e-10) is None  # the original is as it was


def test_law_detached_residuals_have_the_same_outputs_and_other_gradients(twins, ids):
    ours, _ = twins
    wrong = with_detached_residuals(ours)
    assert torch.equal(wrong(*ids), ours(*ids))
    for model in (wrong, ours):
        model.zero_grad()
        model(*ids).logsumexp(-1).sum().backward()
    assert (wrong.embedding.weight.grad - ours.embedding.weight.grad).abs().max() > 0.1
    mine, last = (model.decoder.layers[-1].feed_forward.contract.weight.grad for model in (wrong, ours))
    assert torch.equal(mine, last)  # no cut residual lies between it and the logits


def test_law_the_halves_are_sines_and_then_cosines(twins):
    right, wrong = (
        model.positions.get_buffer("table")
        for model in (twins[0], with_mistake(twins[0], "halves, not pairs"))
    )
    assert torch.equal(wrong[:, :10], right[:, 0::2])
    assert torch.equal(wrong[:, 10:], right[:, 1::2])


@pytest.mark.message
def test_message_an_unknown_mistake(twins):
    with pytest.raises(ValueError, match="mistake='typo' is none of masks inverted, source padding"):
        with_mistake(twins[0], "typo")
