"""The checks of the masking exercises reject wrong answers, and the leak tests find leaks."""

import math

import torch
from torch import Tensor

from annotated_transformer.book.chapters.masking import exercises as checks
from annotated_transformer.model.masks import causal_mask, decoder_mask
from tests.solutions import Solutions

solved = Solutions("masking")
edited = solved.edited


def by_slopes(layer, x: Tensor) -> Tensor:
    jacobian = torch.autograd.functional.jacobian(layer, x)  # (queries, features, keys, features)
    return jacobian.abs().sum(dim=(1, 3)) > 0


def by_slopes_of_the_sum(layer, x: Tensor) -> Tensor:
    """Sum the features first, so that influences of opposite signs cancel."""
    return torch.autograd.functional.jacobian(lambda x: layer(x).sum(dim=-1), x).abs().sum(dim=-1) > 0


def filled(number: float, zero: bool = False):
    def attend(query, key, value, mask):
        scores = query @ key.mT / math.sqrt(query.size(-1))
        weights = scores.masked_fill(~mask, number).softmax(dim=-1)
        return (weights.masked_fill(~mask, 0.0) if zero else weights) @ value

    return attend


def in_place_attention(query, key, value, mask):
    mask = mask.expand(*query.shape[:-1], key.size(-2))
    scores = (query @ key.mT / math.sqrt(query.size(-1))).masked_fill(~mask, -math.inf)
    top = scores.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min).detach()
    raised = torch.where(mask, (torch.where(mask, scores, top) - top).exp(), 0.0)
    return raised / raised.sum(dim=-1, keepdim=True).clamp(min=1e-30) @ value


def reads_by_noise(layer, x: Tensor) -> Tensor:
    rng = torch.Generator().manual_seed(1)
    found = torch.zeros(len(x), len(x), dtype=torch.bool)
    for key in range(len(x)):
        for size in (1.0, 1e3, 1e8) * 5:
            changed = x.clone()
            changed[key] = size * torch.randn(x.size(1), generator=rng, dtype=x.dtype)
            found[:, key] |= ~torch.isclose(layer(changed), layer(x)).all(dim=-1)
    return found


WEIGHTS = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.33, 0.33, 0.33, 0], [1 / 3, 1 / 3, 1 / 3, 0]]
RIGHT = {
    "weights": [torch.tensor(WEIGHTS)],
    "masked_attention": [in_place_attention],
    "reads": [reads_by_noise],
}
WRONG = {
    "weights": [
        ("query 3 gives key 0 a weight other than your 0.25 (both", [*WEIGHTS[:3], [0.25] * 4]),
        ("your weights should have shape (4, 4), not (3, 4)", WEIGHTS[:3]),
    ],
    "local_mask": [
        ("the window is one too long", edited("local_mask", "(-window", "(-window - 1")),
        ("it is inverted: True should mean", lambda n, w: ~solved.local_mask(n, w)),
    ],
    "masked_attention": [
        ("hidden scores are set to a number that is larger than this", filled(-1e9, zero=True)),
        ("a query that may read no key gives NaN;", filled(-math.inf)),
    ],
    "decoder_mask": [
        ("a pair needs only one of the two masks", edited("repaired_mask", "real & past", "real | past")),
        ("0 is taken for padding, whatever `pad_id` is", lambda ids, pad: decoder_mask(ids, 0)),
    ],
    "low_enough": [
        ("the allowed keys' own score is not used", edited("low_enough", "score + ", "")),
        ("the allowed keys keep a share of 1", edited("low_enough", "(hidden * (1 - share))", "hidden")),
    ],
    "packed_mask": [
        ("later positions of the own sentence", edited("packed_mask", "& causal_mask(len(sentence))", "")),
        ("earlier sentences may be read", lambda sentence: causal_mask(len(sentence))),
    ],
    "reads": [
        ("the outputs are summed over their features, where", by_slopes_of_the_sum),
        ("you look at derivatives, which are 0 where the layer is", by_slopes),
    ],
}


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
