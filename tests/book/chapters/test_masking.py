"""The leak tests of the chapter on masking find leaks that derivatives miss."""

import math

import torch
from torch import Tensor

from annotated_transformer.book.chapters.masking import exercises as checks
from annotated_transformer.model.masks import causal_mask


def attend_below(number: float):
    """Return attention that sets masked scores to `number`, with different queries and keys."""
    mix = torch.randn(8, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def attend(x: Tensor) -> Tensor:
        scores = (x @ mix @ x.mT / math.sqrt(8)).masked_fill(~causal_mask(x.size(1)), number)
        return scores.softmax(dim=-1) @ x

    return attend


def test_law_changed_inputs_find_a_leak_that_derivatives_miss():
    assert [checks.count_leaks(attend_below(-math.inf), scale) for scale in (1.0, 1e3, 1e6)] == [0, 0, 0]
    assert checks.count_leaks(attend_below(-1e9)) == 0
    assert checks.count_leaks(attend_below(-1e9), 1e6) > 0
    assert checks.count_leaks(attend_below(-1.0)) == 20
    x = torch.randn(1, 6, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert (checks.influence(attend_below(-1e9), x)[~causal_mask(6)] == 0).all()


def test_law_influence_is_the_sum_of_absolute_derivatives():
    x = torch.randn(1, 3, 2, dtype=torch.float64)
    shift = torch.tensor([[0.0, 0, 0], [2, 0, 0], [0, -3, 0]], dtype=torch.float64)
    torch.testing.assert_close(checks.influence(lambda x: shift @ x, x), 2 * shift.abs())
