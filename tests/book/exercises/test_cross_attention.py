"""The checks of the exercises on cross-attention reject wrong answers."""

import math

import torch

from annotated_transformer.book.exercises.cross_attention import (
    SHAPES,
    check_cross_attention,
    check_multiplications,
    check_prepared,
    check_read_source,
    check_rectangle,
    check_two_sources,
)
from annotated_transformer.model.masks import padding_mask
from tests.answers import faults


def cross_attention(x, z, w_query, w_key, w_value, is_word, *, masked=True):
    scores = (x @ w_query) @ (z @ w_key).mT / math.sqrt(w_query.size(-1))
    if masked:
        scores = scores.masked_fill(~is_word[:, None], -math.inf)
    return scores.softmax(dim=-1) @ (z @ w_value)


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


RIGHT = [
    (check_rectangle, dict(SHAPES)),
    (check_cross_attention, cross_attention),
    (check_read_source, read_source),
    (check_prepared, prepare, step),
    (check_multiplications, multiplications),
    (check_two_sources, two_sources),
]


WRONG = {
    "shapes: square weights": (check_rectangle, SHAPES | {"weights": (2, 8, 4, 4)}),
    "shapes: keys of the target": (check_rectangle, SHAPES | {"keys": (2, 8, 4, 64)}),
    "shapes: the target's mask": (check_rectangle, SHAPES | {"mask": (2, 1, 1, 4)}),
    "shapes: as long as the source": (check_rectangle, SHAPES | {"output": (2, 7, 512)}),
    "cross: no mask": (check_cross_attention, lambda *inputs: cross_attention(*inputs, masked=False)),
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
    "cost: always once": (check_multiplications, lambda n, m, d, once: multiplications(n, m, d, True)),
    "cost: no output matrix": (
        check_multiplications,
        lambda n, m, d, once: multiplications(n, m, d, once) - n * d**2,
    ),
    "two: the sum of two attentions": (check_two_sources, added),
    "two: their mean": (check_two_sources, lambda *inputs: added(*inputs, weight=0.5)),
}


WORDS = {
    "prepare: projected at each step": "56 rows",
}


def test_law_right_answers_pass_and_wrong_ones_are_rejected_with_a_reason():
    assert faults(RIGHT, WRONG, WORDS) == []
