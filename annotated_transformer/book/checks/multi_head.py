"""The checks of the exercises on multi-head attention: section 3.2.2; the chapter on multi-head attention."""

import copy
from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.book.checks.verdict import expect, expect_close, judge
from annotated_transformer.model.attention import MultiHeadAttention

Batch = tuple[Tensor, Tensor, Tensor, Tensor]


@judge
def check_split_heads(answer: Callable[[Tensor, int], Tensor]) -> str:
    """Judge `answer(projected, num_heads)`, exercise ex-split-heads."""
    batch, tokens, heads, width = 2, 5, 3, 7
    projected = torch.arange(batch * tokens * heads * width, dtype=torch.float32)
    projected = projected.view(batch, tokens, heads * width)
    found = answer(projected.clone(), heads)
    wanted = torch.stack(projected.chunk(heads, dim=-1), dim=1)
    if isinstance(found, Tensor):
        mixed = torch.equal(found, projected.view(batch, heads, tokens, width))
        expect(
            not mixed, "a head mixes the columns of several heads; cut the columns first, then swap the axes."
        )
        strided = torch.equal(found, projected.view(batch, tokens, width, heads).permute(0, 3, 1, 2))
        expect(not strided, f"a head takes every {heads}rd column; its columns stand side by side.")
        swapped = found.shape == wanted.transpose(1, 2).shape
        expect(not swapped, "the axes are (batch, tokens, heads, d_k); heads must come before tokens.")
    expect_close(found, wanted, what="the split tensor")
    return "each head has its own columns of every token."


@judge
def check_contributions(answer: Callable[[MultiHeadAttention, Tensor], Tensor]) -> str:
    """Judge `answer(layer, x)`, exercise ex-contributions."""
    rng = torch.Generator().manual_seed(0)
    layer = MultiHeadAttention(6, 3, d_k=5, d_v=2).double()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, generator=rng)
    before = copy.deepcopy(layer)
    x = torch.randn(2, 4, 6, generator=rng, dtype=torch.float64)
    with torch.no_grad():
        found, wanted = answer(layer, x), torch.stack([_only_head(before, head, x) for head in range(3)])
    same = all(
        torch.equal(new, old) for new, old in zip(layer.parameters(), before.parameters(), strict=True)
    )
    expect(same, "your code changed the layer's parameters; leave it as it was.")
    expect_close(found, wanted, what="the contributions (heads, batch, tokens, d_model)")
    return "each head adds its own term, and the terms sum to the layer's output."


def _only_head(layer: MultiHeadAttention, head: int, x: Tensor) -> Tensor:
    """Return the layer's output when W^O reads no head but one."""
    alone = copy.deepcopy(layer)
    width = alone.to_output.in_features // alone.num_heads
    for other in range(alone.num_heads):
        if other != head:
            alone.to_output.weight[:, other * width : (other + 1) * width] = 0
    output: Tensor = alone(x, x, x)
    return output


@judge
def check_one_head_errors(answer: Callable[[Tensor], Tensor]) -> str:
    """Judge `answer(weights)`, exercise ex-three-pointers."""
    for numbers in ([0.5, 0.5], [0.2, 0.8], [0.5, 0.3, 0.2], [1 / 3] * 3, [0.7, 0.1, 0.1, 0.05, 0.05]):
        weights = torch.tensor(numbers, dtype=torch.float64)
        wanted = 1 - weights.square() / weights.square().sum()
        rounded = [round(number, 2) for number in numbers]
        expect_close(answer(weights.clone()), wanted, what=f"the result for weights {rounded}")
    return "with p items the errors sum to p − 1, however the weight is shared."


@judge
def check_pointers(answer: Callable[[], MultiHeadAttention], draw_batch: Callable[..., Batch]) -> str:
    """Judge the layer that `answer()` builds by `draw_batch(rng, size)`, exercise ex-pointers-by-hand."""
    layer = answer()
    expect(isinstance(layer, MultiHeadAttention), f"return a MultiHeadAttention, not {type(layer).__name__}.")
    query, key, value, target = draw_batch(torch.Generator().manual_seed(1), 4096)
    with torch.no_grad():
        error = (layer.to(query.dtype)(query, key, value) - target).square().mean().item()
    expect(
        error < 0.01, f"the mean squared error is {error:.2f}; both items read cleanly give less than 0.01."
    )
    return "two heads, each with one question, bring back both items."
