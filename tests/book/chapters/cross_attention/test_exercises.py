"""The checks of the exercises on cross-attention reject wrong answers."""

import math

import torch
import torch.nn.functional as F

from annotated_transformer.book.chapters.cross_attention.exercises import (
    SHAPES,
    check_cross_attention,
    check_multiplications,
    check_prepared,
    check_read_source,
    check_rectangle,
    check_two_sources,
)
from annotated_transformer.model.masks import padding_mask


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


def by_kernel(x, z, w_query, w_key, w_value, is_word):
    hides = is_word[:, None].expand(-1, x.size(1), -1)
    return F.scaled_dot_product_attention(x @ w_query, z @ w_key, z @ w_value, attn_mask=hides)


def prepared_by_products(attend, memory):
    """Multiply by the matrices, without calling the modules."""
    projected = (memory @ linear.weight.T for linear in (attend.to_key, attend.to_value))
    return tuple(x.unflatten(-1, (attend.num_heads, -1)).transpose(1, 2) for x in projected)


def two_sources_projected(attend, x, first, second, first_mask, second_mask):
    pairs = zip(attend.project_memory(first, first), attend.project_memory(second, second), strict=True)
    key, value = (torch.cat(pair, dim=2) for pair in pairs)
    return attend.attend(attend.project_query(x), key, value, torch.cat([first_mask, second_mask], dim=3))


RIGHT = {
    check_rectangle: [dict(SHAPES), {name: [*shape] for name, shape in SHAPES.items()}],
    check_cross_attention: [cross_attention, by_kernel],
    check_read_source: [
        read_source,
        lambda attend, x, z, src, tgt: attend(x, z, z, (src != 0)[:, None, None]),
    ],
    check_prepared: [
        (prepare, step),
        (
            lambda attend, z: attend.project_memory(z, z)[::-1],
            lambda attend, x, pair, mask: attend.attend(attend.project_query(x), pair[1], pair[0], mask),
        ),
        (prepared_by_products, step),
    ],
    check_multiplications: [
        multiplications,
        lambda n, m, d, once: 2 * d * (n * (d + m) + (m * d if once else n * m * d)),
    ],
    check_two_sources: [two_sources, two_sources_projected],
}


WRONG = {
    check_rectangle: [
        ("There is a row for each query, which is a target token", SHAPES | {"weights": (2, 8, 4, 4)}),
        ("the shape is not (2, 8, 4, 64)", SHAPES | {"keys": (2, 8, 4, 64)}),
        ("The mask hides source tokens, whichever token asks", SHAPES | {"mask": (2, 1, 1, 4)}),
        ("There is one output for each query, which is a target token", SHAPES | {"output": (2, 7, 512)}),
        ("'mask' should be a shape, such as (2, 3), not str.", SHAPES | {"mask": "(2, 1, 1, 7)"}),
    ],
    check_cross_attention: [
        ("the mask is not used", lambda *inputs: cross_attention(*inputs, masked=False)),
        (
            "x and z are swapped: the target asks, and the source is",
            lambda x, z, *rest: cross_attention(z, x, *rest),
        ),
    ],
    check_read_source: [
        (
            "the mask is that of the target",
            lambda attend, x, z, src, tgt: attend(x, z, z, padding_mask(tgt, 0)),
        ),
        ("neither bug is repaired", lambda attend, x, z, src, tgt: attend(z, x, x, padding_mask(tgt, 0))),
        ("the padding of the source is not hidden", lambda attend, x, z, src, tgt: attend(x, z, z)),
        (
            "the values are those of the target",
            lambda attend, x, z, src, tgt: attend(x, z, x, padding_mask(src, 0)),
        ),
    ],
    check_prepared: [
        (
            "over four steps, 56 rows passed to_key and to_value;",
            lambda attend, memory: memory,
            lambda attend, x, memory, mask: attend(x, memory, memory, mask),
        ),
        ("the mask is not used", prepare, lambda attend, x, pair, mask: step(attend, x, pair, None)),
    ],
    check_multiplications: [
        ("keys and values are always computed once", lambda n, m, d, once: multiplications(n, m, d, True)),
        (
            "the projection of the queries is missing, or W^O",
            lambda n, m, d, once: multiplications(n, m, d, once) - n * d**2,
        ),
    ],
    check_two_sources: [
        ("two attentions are added", added),
        (
            "two attentions are averaged, so that each source always",
            lambda *inputs: added(*inputs, weight=0.5),
        ),
    ],
}
