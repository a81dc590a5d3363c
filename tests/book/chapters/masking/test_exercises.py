"""The checks of the masking exercises reject wrong answers, and the leak tests find leaks."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from annotated_transformer.book.chapters.masking.exercises import (
    check_decoder_mask,
    check_local_mask,
    check_low_enough,
    check_masked_attention,
    check_packed_mask,
    check_reads,
    check_weights,
    count_leaks,
    influence,
)
from annotated_transformer.model.masks import causal_mask, decoder_mask, padding_mask


def distance(tokens: int) -> Tensor:
    position = torch.arange(tokens)
    return position[:, None] - position  # how many positions the key is before the query


def local(tokens: int, window: int) -> Tensor:
    return (distance(tokens) >= 0) & (distance(tokens) < window)


def same(sentence: Tensor) -> Tensor:
    return sentence[:, None] == sentence


def packed(sentence: Tensor) -> Tensor:
    return same(sentence) & (distance(len(sentence)) >= 0)


def reads(layer, x: Tensor) -> Tensor:
    found = torch.zeros(len(x), len(x), dtype=torch.bool)
    for j in range(len(x)):
        for scale in (-1, 2, 1e6):
            changed = x.clone()
            changed[j] *= scale
            found[:, j] |= (layer(changed) != layer(x)).any(dim=-1)
    return found


def reads_at_one_size(layer, x: Tensor) -> Tensor:
    """Change the inputs without making them any larger."""
    found = torch.zeros(len(x), len(x), dtype=torch.bool)
    for j in range(len(x)):
        changed = x.clone()
        changed[j] *= -1
        found[:, j] = (layer(changed) != layer(x)).any(dim=-1)
    return found


def reads_slopes(layer, x: Tensor) -> Tensor:
    jacobian = torch.autograd.functional.jacobian(layer, x)  # (queries, features, keys, features)
    return jacobian.abs().sum(dim=(1, 3)) > 0


def reads_the_sum(layer, x: Tensor) -> Tensor:
    """Sum the features first, so that influences of opposite signs cancel."""
    return torch.autograd.functional.jacobian(lambda x: layer(x).sum(dim=-1), x).abs().sum(dim=-1) > 0


def reads_without_the_corner(layer, x: Tensor) -> Tensor:
    found = reads(layer, x)
    found[0, -1] = False
    return found


def scores_of(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.mT / math.sqrt(query.size(-1))


def masked_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    blind = ~mask.any(dim=-1, keepdim=True)
    weights = scores_of(query, key).masked_fill(~(mask | blind), -math.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0) @ value


def filled(number: float, zero: bool = False):
    def attend(query, key, value, mask):
        weights = scores_of(query, key).masked_fill(~mask, number).softmax(dim=-1)
        return (weights.masked_fill(~mask, 0.0) if zero else weights) @ value

    return attend


def nan_to_zero(query, key, value, mask):
    """Replace NaN in the output: the output is right, but the gradient is not."""
    return filled(-math.inf)(query, key, value, mask).nan_to_num()


def nan_weights_to_zero(query, key, value, mask):
    """Add −∞ and zero the masked weights: the gradient of the values is right, that of the queries is not."""
    added = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    return (scores_of(query, key) + added).softmax(dim=-1).masked_fill(~mask, 0.0) @ value


def masked_after(query, key, value, mask):
    return (scores_of(query, key).softmax(dim=-1) * mask) @ value


def one_mask_for_all(query, key, value, mask):
    return masked_attention(query, key, value, mask[:1] if mask.ndim == 4 else mask)


def only_four_axes(query, key, value, mask):
    if query.ndim == 3 or mask.ndim not in (query.ndim, 2):
        mask = mask[None].logical_not()
    return masked_attention(query, key, value, mask)


WEIGHTS = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.33, 0.33, 0.33, 0], [1 / 3, 1 / 3, 1 / 3, 0]]


def low_enough(allowed: int, hidden: int, score: float, share: float) -> float:
    return score + math.log(allowed * share / (hidden * (1 - share)))


def tril_of(ids: Tensor, diagonal: int) -> Tensor:
    return distance(ids.size(1)) >= -diagonal


def in_place_attention(query, key, value, mask):
    mask = mask.expand(*query.shape[:-1], key.size(-2))
    scores = scores_of(query, key).masked_fill(~mask, -math.inf)
    top = scores.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min).detach()
    raised = torch.where(mask, (torch.where(mask, scores, top) - top).exp(), 0.0)
    return raised / raised.sum(dim=-1, keepdim=True).clamp(min=1e-30) @ value


def reads_by_noise(layer, x: Tensor) -> Tensor:
    rng = torch.Generator().manual_seed(1)
    found = []
    for key in range(len(x)):
        seen = torch.zeros(len(x), dtype=torch.bool)
        for size in (1.0, 1e3, 1e8):
            for _ in range(5):
                changed = x.clone()
                changed[key] = size * torch.randn(x.size(1), generator=rng, dtype=x.dtype)
                seen |= ~torch.isclose(layer(changed), layer(x)).all(dim=-1)
        found.append(seen)
    return torch.stack(found, dim=1)


RIGHT = {
    check_weights: [WEIGHTS, torch.tensor(WEIGHTS)],
    check_local_mask: [local, lambda n, w: torch.ones(n, n).tril().triu(1 - w).bool()],
    check_masked_attention: [masked_attention, in_place_attention],
    check_decoder_mask: [
        decoder_mask,
        lambda ids, pad: (ids != pad)[:, None, None] * causal_mask(ids.size(1)),
    ],
    check_low_enough: [
        low_enough,
        lambda a, h, s, p: torch.tensor(s + math.log(a / h) + math.log(p) - math.log1p(-p)),
    ],
    check_packed_mask: [packed, lambda s: torch.stack([(s == number) for number in s]).tril()],
    check_reads: [reads, reads_by_noise],
}


WRONG = {
    check_weights: [
        ("query 3 gives key 0 a weight other than your 0.25 (both", [*WEIGHTS[:3], [0.25] * 4]),
        ("your weights should have shape (4, 4), not (3, 4)", WEIGHTS[:3]),
    ],
    check_local_mask: [
        ("the window is one too long: a query's own position", lambda n, w: local(n, w + 1)),
        ("it is inverted: True should mean that a query may look", lambda n, w: ~local(n, w)),
        ("the mask for 7 tokens and a window of 3 should have the", lambda n, w: local(n, w).long()),
    ],
    check_masked_attention: [
        ("hidden scores are set to a number that is larger than this", filled(-1e9, zero=True)),
        ("a query that may read no key gives NaN;", filled(-math.inf)),
        ("to repair what comes out of it is too late for the gradient", nan_to_zero),
        ("the gradient of the queries is NaN", nan_weights_to_zero),
        ("the mask is applied after the softmax, so the weights no", masked_after),
        ("the mask is inverted: it is True where a query may look", only_four_axes),
        ("the mask of the first sentence is used for all", one_mask_for_all),
    ],
    check_decoder_mask: [
        ("a pair needs only one of the two masks", lambda ids, pad: padding_mask(ids, pad) | tril_of(ids, 0)),
        ("0 is taken for padding, whatever `pad_id` is", lambda ids, pad: decoder_mask(ids, 0)),
        (
            "the rows of padding are hidden instead of its columns",
            lambda ids, pad: padding_mask(ids, pad).mT & tril_of(ids, 0),
        ),
    ],
    check_low_enough: [
        ("the allowed keys' own score is not used", lambda a, h, s, p: low_enough(a, h, 0, p)),
        ("the allowed keys keep a share of 1", lambda a, h, s, p: s + math.log(a * p / h)),
    ],
    check_packed_mask: [
        ("later positions of the own sentence may be read", same),
        ("earlier sentences may be read", lambda s: distance(len(s)) >= 0),
    ],
    check_reads: [
        ("the outputs are summed over their features, where", reads_the_sum),
        ("you look at derivatives, which are 0 where the layer is", reads_slopes),
        ("the inputs never become large", reads_at_one_size),
        ("the influence of the last position on the first is missed", reads_without_the_corner),
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
    assert [count_leaks(attend_below(-math.inf), scale) for scale in (1.0, 1e3, 1e6)] == [0, 0, 0]
    assert count_leaks(attend_below(-1e9)) == 0
    assert count_leaks(attend_below(-1e9), 1e6) > 0
    assert count_leaks(attend_below(-1.0)) == 20
    x = torch.randn(1, 6, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert (influence(attend_below(-1e9), x)[~causal_mask(6)] == 0).all()


def test_law_influence_is_the_sum_of_absolute_derivatives():
    x = torch.randn(1, 3, 2, dtype=torch.float64)
    shift = torch.tensor([[0.0, 0, 0], [2, 0, 0], [0, -3, 0]], dtype=torch.float64)
    torch.testing.assert_close(influence(lambda x: shift @ x, x), 2 * shift.abs())


def test_oracle_the_reference_attention_matches_pytorch():
    query, key, value = torch.randn(3, 2, 5, 4, dtype=torch.float64)
    wanted = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    torch.testing.assert_close(masked_attention(query, key, value, causal_mask(5)), wanted)
