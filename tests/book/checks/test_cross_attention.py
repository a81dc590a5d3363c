"""The checks of the exercises on cross-attention reject wrong answers."""

import math

import pytest
import torch

from annotated_transformer.book.checks.cross_attention import (
    SHAPES,
    check_cross_attention,
    check_multiplications,
    check_prepared,
    check_read_source,
    check_rectangle,
    check_two_sources,
)
from annotated_transformer.model.masks import padding_mask
from tests.answers import assert_refused, assert_refused_as_empty, unanswered


def cross_attention(x, z, w_query, w_key, w_value, is_word, *, scale=None, masked=True, dim=-1):
    scores = (x @ w_query) @ (z @ w_key).mT / (scale or math.sqrt(w_query.size(-1)))
    if masked:
        scores = scores.masked_fill(~is_word[:, None], -math.inf)
    return scores.softmax(dim=dim) @ (z @ w_value)


def varied(**changes):
    return lambda *inputs: cross_attention(*inputs, **changes)


def self_attention(x, z, w_query, w_key, w_value, is_word):
    return cross_attention(x, x, w_query, w_key, w_value, torch.ones(x.shape[:2], dtype=torch.bool))


def read_source(attend, x, memory, src, tgt):
    return attend(x, memory, memory, padding_mask(src, 0))


def prepare(attend, memory):
    return attend.project_memory(memory, memory)


def step(attend, x, prepared, mask):
    return attend.attend(attend.project_query(x), *prepared, mask)


def multiplications(n, m, d, once):
    return (1 if once else n) * 2 * m * d**2 + n * (2 * d**2 + 2 * m * d)


def two_sources(attend, x, first, second, first_mask, second_mask):
    both = torch.cat([first, second], dim=1)
    return attend(x, both, both, torch.cat([first_mask, second_mask], dim=-1))


def added(attend, x, first, second, first_mask, second_mask, weight=1.0):
    return weight * (attend(x, first, first, first_mask) + attend(x, second, second, second_mask))


def unmasked_second(attend, x, first, second, first_mask, second_mask):
    return two_sources(attend, x, first, second, first_mask, torch.ones_like(second_mask))


RIGHT = {
    check_rectangle: (dict(SHAPES),),
    check_cross_attention: (cross_attention,),
    check_read_source: (read_source,),
    check_prepared: (prepare, step),
    check_multiplications: (multiplications,),
    check_two_sources: (two_sources,),
}


@pytest.mark.parametrize(("check", "answer"), RIGHT.items())
def test_law_the_right_answer_passes(check, answer):
    assert check(*answer).passed, repr(check(*answer))


WRONG = {
    "shapes: square weights": (check_rectangle, SHAPES | {"weights": (2, 8, 4, 4)}),
    "shapes: transposed weights": (check_rectangle, SHAPES | {"weights": (2, 8, 7, 4)}),
    "shapes: keys of the target": (check_rectangle, SHAPES | {"keys": (2, 8, 4, 64)}),
    "shapes: the target's mask": (check_rectangle, SHAPES | {"mask": (2, 1, 1, 4)}),
    "shapes: as long as the source": (check_rectangle, SHAPES | {"output": (2, 7, 512)}),
    "shapes: empty": (check_rectangle, SHAPES | {"output": ...}),
    "cross: no mask": (check_cross_attention, varied(masked=False)),
    "cross: not scaled": (check_cross_attention, varied(scale=1.0)),
    "cross: over the target": (check_cross_attention, varied(dim=-2, masked=False)),
    "cross: the target reads itself": (check_cross_attention, self_attention),
    "cross: z and x change places": (check_cross_attention, lambda x, z, *rest: cross_attention(z, x, *rest)),
    "debug: the target's padding": (
        check_read_source,
        lambda attend, x, z, src, tgt: attend(x, z, z, padding_mask(tgt, 0)),
    ),
    "debug: the source asks": (
        check_read_source,
        lambda attend, x, z, src, tgt: attend(z, x, x, padding_mask(tgt, 0)),
    ),
    "debug: no mask": (check_read_source, lambda attend, x, z, src, tgt: attend(x, z, z)),
    "debug: values of the target": (
        check_read_source,
        lambda attend, x, z, src, tgt: attend(x, z, x, padding_mask(src, 0)),
    ),
    "prepare: projected at each step": (
        check_prepared,
        lambda attend, memory: memory,
        lambda attend, x, memory, mask: attend(x, memory, memory, mask),
    ),
    "prepare: no mask": (check_prepared, prepare, lambda attend, x, pair, mask: step(attend, x, pair, None)),
    "prepare: keys for values": (
        check_prepared,
        lambda attend, memory: prepare(attend, memory)[::-1],
        step,
    ),
    "cost: always once": (check_multiplications, lambda n, m, d, once: multiplications(n, m, d, True)),
    "cost: no output matrix": (
        check_multiplications,
        lambda n, m, d, once: multiplications(n, m, d, once) - n * d**2,
    ),
    "cost: square scores": (
        check_multiplications,
        lambda n, m, d, once: multiplications(n, m, d, once) + n * (n - m) * d,
    ),
    "two: the sum of two attentions": (check_two_sources, added),
    "two: their mean": (check_two_sources, lambda *inputs: added(*inputs, weight=0.5)),
    "two: the second's padding is read": (check_two_sources, unmasked_second),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_law_a_wrong_answer_is_rejected_with_an_explanation(case):
    assert_refused(*case)


def test_law_an_empty_answer_is_reported_as_empty():
    for check, answers in RIGHT.items():
        assert_refused_as_empty(check, *({} if check is check_rectangle else unanswered for _ in answers))


def test_law_the_verdict_counts_the_rows_that_were_projected():
    check, *wrong = WRONG["prepare: projected at each step"]
    assert "56 rows" in check(*wrong).message
