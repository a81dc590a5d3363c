"""The checks of the exercises on cross-attention reject wrong answers."""

import torch

from annotated_transformer.book.chapters.cross_attention import exercises as checks
from annotated_transformer.model.masks import padding_mask
from tests.solutions import Solutions

solved = Solutions("cross_attention")
edited = solved.edited


def prepare(attend, memory):
    return attend.project_memory(memory, memory)


def step_without_mask(attend, x, prepared, mask):
    return solved.step(attend, x, prepared, None)


def added(attend, x, first, second, first_mask, second_mask, weight=1.0):
    return weight * (attend(x, first, first, first_mask) + attend(x, second, second, second_mask))


def prepared_by_products(attend, memory):
    """Multiply by the matrices, without calling the modules; return the values first."""
    projected = (memory @ linear.weight.T for linear in (attend.to_value, attend.to_key))
    return tuple(x.unflatten(-1, (attend.num_heads, -1)).transpose(1, 2) for x in projected)


def step_with_values_first(attend, x, pair, mask):
    return attend.attend(attend.project_query(x), pair[1], pair[0], mask)


def two_sources_projected(attend, x, first, second, first_mask, second_mask):
    pairs = zip(attend.project_memory(first, first), attend.project_memory(second, second), strict=True)
    key, value = (torch.cat(pair, dim=2) for pair in pairs)
    return attend.attend(attend.project_query(x), key, value, torch.cat([first_mask, second_mask], dim=3))


RIGHT = {
    "read_source": [lambda attend, x, z, src, tgt: attend(x, z, z, (src != 0)[:, None, None])],
    "prepared": [(prepared_by_products, step_with_values_first)],
    "two_sources": [two_sources_projected],
}
MASKED = "scores = scores.masked_fill(~is_word[:, None], -torch.inf)"
WRONG = {
    "rectangle": [
        ("There is a row for each query, which is a target token", checks.SHAPES | {"weights": (2, 8, 4, 4)}),
        ("the shape is not (2, 8, 4, 64)", checks.SHAPES | {"keys": (2, 8, 4, 64)}),
        ("The mask hides source tokens, whichever token asks", checks.SHAPES | {"mask": (2, 1, 1, 4)}),
        (
            "There is one output for each query, which is a target token",
            checks.SHAPES | {"output": (2, 7, 512)},
        ),
        ("'mask' should be a shape, such as (2, 3), not str.", checks.SHAPES | {"mask": "(2, 1, 1, 7)"}),
    ],
    "cross_attention": [
        ("the mask is not used", edited("cross_attention", MASKED, "pass")),
        ("x and z are swapped", lambda x, z, *others: solved.cross_attention(z, x, *others)),
    ],
    "read_source": [
        ("the mask is that of the target", edited("read_source", "padding_mask(src", "padding_mask(tgt")),
        ("neither bug is repaired", lambda attend, x, z, src, tgt: attend(z, x, x, padding_mask(tgt, 0))),
        ("the padding of the source is not hidden", lambda attend, x, z, src, tgt: attend(x, z, z)),
        ("the values are those of the target", edited("read_source", "memory, memory, p", "memory, x, p")),
    ],
    "prepared": [
        (
            "over four steps, 56 rows passed to_key and to_value;",
            lambda attend, memory: memory,
            lambda attend, x, memory, mask: attend(x, memory, memory, mask),
        ),
        ("the mask is not used", prepare, step_without_mask),
    ],
    "multiplications": [
        ("keys and values are always computed", lambda n, m, d, _: solved.multiplications(n, m, d, True)),
        ("the projection of the queries", edited("multiplications", "2 * d_model**2 +", "d_model**2 +")),
    ],
    "two_sources": [
        ("two attentions are added", added),
        ("two attentions are averaged", lambda *given: added(*given, weight=0.5)),
    ],
}
