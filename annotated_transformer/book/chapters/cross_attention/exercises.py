"""Checks of the exercises of the chapter on cross-attention (section 3.2.3 of the paper)."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from annotated_transformer.book.exercises.answers import Answer, Answers, formula, predictions
from annotated_transformer.book.exercises.inputs import draw_normal, mistaken_attention
from annotated_transformer.book.exercises.verdict import expect, expect_close, judge, plural
from annotated_transformer.model.masks import padding_mask
from annotated_transformer.model.multi_head_attention import MultiHeadAttention

Read = Callable[..., Tensor]


def _layer(d_model: int = 12, heads: int = 3) -> MultiHeadAttention:
    """Return an attention layer in double precision, with fixed random weights."""
    made = MultiHeadAttention(d_model, heads).double()
    rng = torch.Generator().manual_seed(0)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.4, generator=rng)
    return made.requires_grad_(False)


@predictions(
    put="a tuple of whole numbers",
    shows="four rows, one for each target token, and seven columns, one for each source token.",
)
def check_rectangle() -> Answers:
    """Judge the predicted shapes, exercise ex-predict-rectangle."""
    target = "keys are taken from the target, as in self-attention"
    return {
        "weights": Answer((2, 8, 4, 7),
            "There is a row for each query, which is a target token, and a column for each source token.",
            {"rows and columns are swapped": (2, 8, 7, 4), target: (2, 8, 4, 4),
            "the heads are missing": (2, 4, 7)}),
        "keys": Answer((2, 8, 7, 64), "Keys come from the source.", {target: (2, 8, 4, 64),
            "the width is not divided among the heads": (2, 8, 7, 512)}),
        "mask": Answer((2, 1, 1, 7), "The mask hides source tokens, whichever token asks.",
            {"the axes of the heads and the queries are missing": (2, 7),
            "each query has its own row": (2, 1, 4, 7)}),
        "output": Answer((2, 4, 512), "There is one output for each query, which is a target token.",
            {"there is one for each source token": (2, 7, 512), "it is that of one head": (2, 4, 64)}),
    }  # fmt: skip


@judge
def check_cross_attention(answer: Read) -> str:
    """Judge `answer(x, z, w_query, w_key, w_value, is_word)`, exercise ex-cross-attention."""
    for n, m in ((4, 4), (3, 5), (5, 3), (1, 6)):
        x, z = draw_normal(n, 2, n, 8), draw_normal(m + 10, 2, m, 8)
        matrices = (*draw_normal(1, 2, 8, 4), draw_normal(2, 8, 6))
        is_word = torch.arange(m) < torch.tensor([[m], [max(1, m - 2)]])
        query, key, value = x @ matrices[0], z @ matrices[1], z @ matrices[2]
        wanted = F.scaled_dot_product_attention(query, key, value, attn_mask=is_word[:, None])
        result = answer(x, z, *matrices, is_word)
        mistakes = mistaken_attention(query, key, value, is_word[:, None])
        if n == m:
            back = z @ matrices[0], x @ matrices[1], x @ matrices[2]
            swapped = F.scaled_dot_product_attention(*back, attn_mask=is_word[:, None])
            mistakes["x and z are swapped: the target asks, and the source is read"] = swapped
            rows = (query @ key.mT / 2).masked_fill(~is_word[..., None], -torch.inf).softmax(dim=-1) @ value
            mistakes["the mask hides queries; it should hide keys"] = rows
        what = f"the output for {plural(n, 'target token')} and {plural(m, 'source token')}"
        expect_close(result, wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    return "it agrees with PyTorch for more, fewer and as many target as source tokens."


@judge
def check_read_source(answer: Read) -> str:
    """Judge `answer(attend, x, memory, src, tgt)`, exercise ex-debug-source; 0 is padding."""
    attend = _layer()
    for n, m in ((4, 4), (3, 5)):
        x, memory = draw_normal(n, 2, n, 12), draw_normal(m + 20, 2, m, 12)
        src = (torch.arange(m) < torch.tensor([[m], [m - 2]])).long() * 7
        tgt = (torch.arange(n) < torch.tensor([[n - 1], [n]])).long() * 7
        hides = padding_mask(src, 0)
        wanted = attend(x, memory, memory, hides)
        result = answer(attend, x, memory, src, tgt)
        mistakes = {"the padding of the source is not hidden": attend(x, memory, memory)}
        if n == m:
            other = padding_mask(tgt, 0)
            mistakes |= {
                "the mask is that of the target; the keys are the source's": attend(x, memory, memory, other),
                "the source asks, and the target is read": attend(memory, x, x, hides),
                "neither bug is repaired": attend(memory, x, x, other),
                "the values are those of the target": attend(x, memory, x, hides),
                "the keys are those of the target": attend(x, x, memory, hides),
            }
        what = f"the output for {plural(n, 'target token')} and {plural(m, 'source token')}"
        expect_close(result, wanted, what=what, tolerance=1e-9, mistakes=mistakes)
    return "the target asks, the source answers, and the source's padding stays hidden."


@judge
def check_prepared(prepare: Callable[..., Any], step: Read) -> str:
    """Judge `prepare(attend, memory)` and `step(attend, x, prepared, mask)`, exercise ex-prepare."""
    attend = _layer()
    x, memory = draw_normal(5, 2, 4, 12), draw_normal(6, 2, 7, 12)
    mask = (torch.arange(7) < torch.tensor([[7], [4]]))[:, None, None]
    wanted = attend(x, memory, memory, mask)
    mistakes = {"the mask is not used": attend(x, memory, memory)}
    rows: list[int] = []
    for linear in (attend.to_key, attend.to_value):
        linear.register_forward_pre_hook(lambda _, args: rows.append(args[0].size(1)))
    prepared = prepare(attend, memory)
    result = torch.cat([step(attend, x[:, t : t + 1], prepared, mask) for t in range(4)], dim=1)
    expect_close(result, wanted, what="the output, step by step,", tolerance=1e-9, mistakes=mistakes)
    expect(
        sum(rows) <= 14,
        f"over four steps, {sum(rows)} rows passed to_key and to_value; 7 source tokens need 14 in all.",
    )
    return "each source token is projected once for the keys and once for the values."


@formula(
    *(
        (n, m, d_model, once)
        for n, m, d_model in ((3, 5, 12), (7, 2, 12), (1, 4, 24))
        for once in (True, False)
    ),
    shows="with the cache, keys and values are projected once, not at each step.",
    shown=2,
)
def check_multiplications(n: int, m: int, d_model: int, once: bool) -> Answer:
    """Judge `answer(n, m, d_model, once)`, exercise ex-derive-cost, by counting multiplications."""
    attend = _layer(d_model)
    x, memory = draw_normal(1, 1, n, d_model), draw_normal(2, 1, m, d_model)
    with FlopCounterMode(display=False) as counter:
        prepared = attend.project_memory(memory, memory) if once else None
        for t in range(n):
            pair = prepared or attend.project_memory(memory, memory)
            attend.attend(attend.project_query(x[:, t : t + 1]), *pair)
    right, square = counter.get_total_flops() // 2, d_model**2  # 2 flops each
    keys = 2 * m * square
    mistakes = {
        "keys and values are always computed once": right - (0 if once else (n - 1) * keys),
        "keys and values are always computed anew": right + ((n - 1) * keys if once else 0),
        "the projection of the queries is missing, or W^O": right - n * square,
        "the products inside the heads are missing": right - 2 * n * m * d_model,
        "only one of the products inside the heads is counted": right - n * m * d_model,
    }
    return Answer(right, "Count four maps, the scores, and the averages.", mistakes)


@judge
def check_two_sources(answer: Read) -> str:
    """Judge `answer(attend, x, first, second, first_mask, second_mask)`, exercise ex-two-sources."""
    attend = _layer()
    x, first, second = draw_normal(7, 2, 3, 12), draw_normal(8, 2, 5, 12), draw_normal(9, 2, 4, 12)
    masks = [
        (torch.arange(m) < torch.tensor([[m], [m - 1]]))[:, None, None]
        for m in (first.size(1), second.size(1))
    ]
    query = attend.project_query(x)
    (k1, v1), (k2, v2) = (attend.project_memory(z, z) for z in (first, second))
    scale = query.size(-1) ** -0.5
    raised = [(query @ k.mT * scale).exp() * mask for k, mask in ((k1, masks[0]), (k2, masks[1]))]
    total = sum(part.sum(dim=-1, keepdim=True) for part in raised)
    mixed = (raised[0] @ v1 + raised[1] @ v2) / total
    wanted = attend.to_output(mixed.transpose(1, 2).flatten(2))
    result = answer(attend, x, first, second, *masks)
    one, two = attend(x, first, first, masks[0]), attend(x, second, second, masks[1])
    both = torch.cat([first, second], dim=1)
    mistakes = {
        "two attentions are added; with one softmax, the weights on both sources sum to 1": one + two,
        "two attentions are averaged, so that each source always gets half of the weight": (one + two) / 2,
        "the masks are not used": attend(x, both, both),
        "the second source is not read": one,
        "the second source is read with what the first one returned": attend(one, second, second, masks[1]),
    }
    expect_close(result, wanted, what="the output", tolerance=1e-9, mistakes=mistakes)
    return "one softmax divides the attention among both sources."
