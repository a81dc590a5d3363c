"""Tests of a model that need no second implementation: laws, and every small case of attention's mask."""

import copy
import math
from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor

from annotated_transformer.book.chapters.the_same_as_pytorch.mistakes import multi_head_attentions
from annotated_transformer.book.chapters.the_same_as_pytorch.steps import outputs, relative_gap
from annotated_transformer.model.normalization import LayerNorm
from annotated_transformer.model.transformer import Transformer

ROUNDING = 1e-10  # between float64's rounding, 1e-15, and the mistakes


def past_keeps(model: Transformer, src: Tensor, tgt: Tensor) -> bool:
    """Return whether other target tokens change later logits, and only these."""
    src, tgt = src[:1], tgt[:1]  # a target without padding
    length = tgt.size(1)
    kept = torch.ones(length, length, dtype=torch.bool).tril()
    changed = torch.where(kept, tgt, tgt % 19 + 3)  # row t: other tokens after token t
    before = model(src, tgt).expand(length, -1, -1)
    after = model(src.expand(length, -1), changed)
    stays = relative_gap(after[kept], before[kept]) < ROUNDING
    return stays and relative_gap(after[~kept], before[~kept]) > ROUNDING


def padding_keeps(model: Transformer, src: Tensor, tgt: Tensor) -> bool:
    """Return whether appended padding changes nothing."""
    longer = torch.nn.functional.pad(src, (0, 3))
    return relative_gap(model(longer, tgt), model(src, tgt)) < ROUNDING


def call_repeats(model: Transformer, src: Tensor, tgt: Tensor) -> bool:
    """Return whether a second call gives the same."""
    return relative_gap(model(src, tgt), model(src, tgt)) < ROUNDING


def norms_hold(model: Transformer, src: Tensor, tgt: Tensor) -> bool:
    """Return whether a layer ends with mean 0 and variance 1 per token, but for gain and bias."""
    name = "encoder.layers.0.add_norm_2"
    norm = cast(LayerNorm, model.get_submodule(f"{name}.norm"))
    bare = (outputs(model, [name], src, tgt)[name][0] - norm.bias) / norm.gain
    variance = bare.var(dim=-1, correction=0)
    return bool(bare.mean(dim=-1).abs().max() < ROUNDING) and bool((variance - 1).abs().max() < 1e-3)


def heads_commute(model: Transformer, src: Tensor, tgt: Tensor) -> bool:
    """Return whether the order of heads, as blocks of features, makes no difference."""
    twin = copy.deepcopy(model)
    for each in multi_head_attentions(twin):
        for part in (each.to_query, each.to_key, each.to_value):
            part.weight.data = _swapped(part.weight, each.num_heads, 0)
            if part.bias is not None:
                part.bias.data = _swapped(part.bias, each.num_heads, 0)
        each.to_output.weight.data = _swapped(each.to_output.weight, each.num_heads, 1)
    return relative_gap(twin(src, tgt), model(src, tgt)) < ROUNDING


def _swapped(tensor: Tensor, heads: int, axis: int) -> Tensor:
    order = torch.tensor([1, 0, *range(2, heads)])  # a full turn would suit interleaved heads, too
    blocks = tensor.detach().unflatten(axis, (heads, -1))
    return blocks.index_select(axis, order).flatten(axis, axis + 1)


Law = Callable[[Transformer, Tensor, Tensor], bool]
LAWS: dict[str, Law] = {
    "past and future": past_keeps,
    "padding": padding_keeps,
    "second call": call_repeats,
    "norms": norms_hold,
    "order of heads": heads_commute,
}


def attention_by_loops(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
) -> Tensor:
    """Return attention with one head; zeros where a query sees no key."""
    rows = []
    for q, sees in zip(query, mask, strict=True):
        row, total = torch.zeros_like(value[0]), 0.0
        for k, v, seen in zip(key, value, sees, strict=True):
            if seen:
                score = sum(a * b for a, b in zip(q.tolist(), k.tolist(), strict=True))
                power = math.exp(score / math.sqrt(len(q)))
                row, total = row + power * v, total + power
        rows.append(row / (total or 1))
    return torch.stack(rows)
