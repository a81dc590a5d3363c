"""The hidden units that are kept."""

import torch

from annotated_transformer.book.chapters.feed_forward.hidden_units import largest
from annotated_transformer.model.feed_forward import FeedForward


def test_law_the_largest_units_by_their_absolute_contribution_are_kept():
    network = FeedForward(5, 3)
    with torch.no_grad():
        network.contract.weight.fill_(1.0)
        network.contract.weight[:, 0] *= 3
    hidden = torch.tensor([[2.0, -5.0, 3.0], [1.0, 5.0, -4.0]])
    assert largest(1)(network)(hidden).tolist() == [[2.0, 0.0, 0.0], [0.0, 5.0, 0.0]]
    assert largest(2)(network)(hidden).tolist() == [[2.0, -5.0, 0.0], [0.0, 5.0, -4.0]]
    assert torch.equal(largest(3)(network)(hidden), hidden)
