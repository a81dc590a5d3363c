"""The checks of the multi-head chapter accept right answers and reject mistakes."""

import math

import pytest
import torch

from annotated_transformer.book.checks.multi_head import (
    check_contributions,
    check_multi_head,
    check_one_head_errors,
    check_pointers,
    check_repaired,
    check_shapes,
    check_split_heads,
)
from annotated_transformer.model.attention import attention_weights
from annotated_transformer.model.multi_head_attention import MultiHeadAttention


def empty(*_):
    raise NotImplementedError("your turn")


def refuses(verdict, words):
    assert not verdict.passed
    assert words in repr(verdict)


# Predict the shapes

SHAPES = {
    "queries": (2, 3, 4, 5),
    "weights": (2, 3, 4, 7),
    "heads": (2, 3, 4, 2),
    "concat": (2, 4, 6),
    "output": (2, 4, 12),
    "parameters": 504,
}


def test_law_right_shapes_pass_as_tuples_lists_and_sizes():
    assert check_shapes(SHAPES).passed
    assert check_shapes(SHAPES | {"weights": [2, 3, 4, 7], "output": torch.Size([2, 4, 12])}).passed


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"queries": (2, 4, 3, 5)}, "'queries' is not (2, 4, 3, 5)"),  # tokens before heads
        ({"queries": (2, 3, 4, 4)}, "'queries' is not"),  # d_model / num_heads
        ({"weights": (2, 3, 7, 4)}, "'weights' is not"),  # keys × queries
        ({"heads": (2, 3, 4, 5)}, "'heads' is not"),  # d_k instead of d_v
        ({"concat": (2, 4, 12)}, "'concat' is not"),
        ({"output": (2, 4, 6)}, "'output' is not"),
        ({"parameters": 576}, "'parameters' is not 576"),  # 4 · 12²
        ({"parameters": ...}, "no prediction for 'parameters'"),
    ],
)
def test_law_a_wrong_shape_is_rejected_by_name(changed, words):
    refuses(check_shapes(SHAPES | changed), words)


def test_law_an_answer_that_is_not_a_dictionary_is_rejected():
    refuses(check_shapes([1, 2]), "not list")


# Split the heads


def split_right(x, heads):
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


SPLIT_WRONG = [
    (lambda x, h: x.view(x.size(0), h, x.size(1), -1), "mixes the columns of several heads"),
    (lambda x, h: x.view(*x.shape[:2], -1, h).permute(0, 3, 1, 2), "every 3rd column"),
    (lambda x, h: x.view(*x.shape[:2], h, -1), "heads come before tokens"),
    (lambda x, h: split_right(x, h)[:1], "shape (2, 5, 21) and 3 heads has shape"),
    (lambda x, h: split_right(x, h) + 1e-3, "differs by"),
    (lambda x, h: x.tolist(), "should be a tensor, not list"),
    (lambda x, h: x.view(7), "stopped with RuntimeError"),
    (empty, "still empty"),
]


def test_law_correct_head_splitting_passes():
    assert check_split_heads(split_right).passed


@pytest.mark.parametrize(("answer", "words"), SPLIT_WRONG)
def test_law_wrong_head_splitting_is_rejected_with_a_hint(answer, words):
    refuses(check_split_heads(answer), words)


# Multi-head attention: written from scratch, and debugged


def from_scratch(split=split_right, scale=None, join=None, mix=True):
    """Return multi-head attention, optionally with a mistake in one place."""

    def attend(query, key, value, w_q, w_k, w_v, w_o, h):
        q, k, v = split(query @ w_q, h), split(key @ w_k, h), split(value @ w_v, h)
        width = q.size(-1) if scale is None else scale(query, q)
        read = (q @ k.mT / math.sqrt(width)).softmax(dim=-1) @ v
        joined = read.transpose(1, 2).flatten(2) if join is None else join(read)
        return joined @ w_o if mix else joined

    return attend


def view_at_once(x, h):
    return x.view(x.size(0), h, x.size(1), -1)


def reshape_at_once(read):
    return read.reshape(read.size(0), read.size(2), -1)


def strided(x, h):
    return x.view(*x.shape[:2], -1, h).permute(0, 3, 1, 2)


def softmax_over_queries(query, key, value, w_q, w_k, w_v, w_o, h):
    q, k, v = split_right(query @ w_q, h), split_right(key @ w_k, h), split_right(value @ w_v, h)
    read = (q @ k.mT / math.sqrt(q.size(-1))).softmax(dim=-2) @ v
    return read.transpose(1, 2).flatten(2) @ w_o


def mixed_sentences(query, *others):
    return from_scratch()(query, *others) + query.mean(dim=0)


SCRATCH_WRONG = [
    (from_scratch(split=view_at_once), "for 3 heads with d_k=4"),
    (from_scratch(split=view_at_once, join=reshape_at_once), "for 3 heads with d_k=4"),  # the exercise's bug
    (from_scratch(join=reshape_at_once), "a change of the last query changes the output of another one"),
    (from_scratch(split=strided), "differs by"),
    (from_scratch(scale=lambda query, q: query.size(-1)), "for 3 heads"),  # √d_model
    (from_scratch(scale=lambda query, q: 1.0), "for 1 heads"),  # not scaled
    (from_scratch(scale=lambda query, q: q.size(-1) ** 2), "differs by"),
    (from_scratch(mix=False), "differs by"),
    (softmax_over_queries, "a change of the last query changes"),
    (mixed_sentences, "one sentence depends on the other"),
    (lambda query, *_: query[:, :2], "has shape (2, 2, 12)"),
    (empty, "still empty"),
]


@pytest.mark.parametrize("check", [check_multi_head, check_repaired])
def test_law_right_multi_head_attention_passes(check):
    assert check(from_scratch()).passed


@pytest.mark.parametrize("check", [check_multi_head, check_repaired])
@pytest.mark.parametrize(("answer", "words"), SCRATCH_WRONG)
def test_law_wrong_multi_head_attention_is_refused_with_a_hint(check, answer, words):
    refuses(check(answer), words)


def test_law_multi_head_attention_that_requires_equal_widths_is_rejected():
    def equal_only(query, key, value, w_q, w_k, w_v, w_o, h):
        q, k, v = (split_right(x @ w, h) for x, w in ((query, w_q), (key, w_k), (value, w_v)))
        read = attention_weights(q, k) @ v
        return read.transpose(1, 2).reshape(query.shape) @ w_o

    refuses(check_multi_head(equal_only), "stopped with RuntimeError")


# Derive the errors

ERRORS_WRONG = [
    (lambda w: 1 - w, "[0.2, 0.8] has the right shape, but differs"),  # right only at ½
    (lambda w: (1 - w) ** 2, "differs by"),
    (lambda w: w.square() / w.square().sum(), "[0.2, 0.8] has the right shape, but differs"),
    (lambda w: (1 - w) ** 2 / (w**2 + (1 - w) ** 2), "[0.5, 0.3, 0.2] has the right shape, but differs"),
    (lambda w: torch.full_like(w, 1 - 1 / len(w)), "[0.2, 0.8] has the right shape, but differs"),  # the mean
    (lambda w: 1 - w.square() / w.square().sum() + 1e-6, "differs by"),
    (lambda w: (1 - w.square() / w.square().sum()).mean(), "has shape"),
    (empty, "still empty"),
]


def test_law_correct_one_head_errors_pass():
    assert check_one_head_errors(lambda w: 1 - w**2 / (w**2).sum()).passed


@pytest.mark.parametrize(("answer", "words"), ERRORS_WRONG)
def test_law_wrong_one_head_errors_are_rejected_with_a_hint(answer, words):
    refuses(check_one_head_errors(answer), words)


# Contributions


def heads_of(layer, x):
    return layer.attention(layer.project_query(x), *layer.project_memory(x, x)).unbind(1)


def contributions_right(layer, x):
    parts = layer.to_output.weight.T.chunk(layer.num_heads)
    return torch.stack([head @ part for head, part in zip(heads_of(layer, x), parts, strict=True)])


def contributions_with_bias(layer, x, share=1.0):
    bias = layer.to_output.bias
    return contributions_right(layer, x) + (0.0 if bias is None else share * bias)


def contributions_by_damage(layer, x):
    answer = contributions_right(layer, x)
    with torch.no_grad():
        layer.to_output.weight.zero_()
    return answer


def contributions_without_any_bias(layer, x):
    """Drop the biases of the projections, which are part of the heads' contributions."""
    bare = MultiHeadAttention(6, 3, d_k=5, d_v=2).double()
    bare.load_state_dict({name: p for name, p in layer.state_dict().items() if "bias" not in name})
    return contributions_right(bare, x)


CONTRIBUTIONS_WRONG = [
    (
        lambda layer, x: torch.stack([layer(x, x, x) / 3] * 3),
        "without biases has the right shape, but differs",
    ),
    (lambda layer, x: torch.stack(heads_of(layer, x)), "has shape"),
    (lambda layer, x: contributions_right(layer, x).flip(0), "differs by"),
    (lambda layer, x: contributions_right(layer, x).sum(0), "has shape"),
    (contributions_with_bias, "with biases has the bias of the output map in each term"),
    (
        lambda layer, x: contributions_with_bias(layer, x, share=1 / 3),
        "with biases has the bias of the output map",
    ),
    (contributions_without_any_bias, "with biases has the right shape, but differs"),
    (contributions_by_damage, "changed the layer's parameters"),
    (empty, "still empty"),
]


def test_law_correct_contributions_pass():
    assert check_contributions(contributions_right).passed


def test_law_contributions_and_the_last_bias_sum_to_the_output():
    layer = MultiHeadAttention(6, 3, bias=True)
    x = torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(0))
    whole = contributions_right(layer, x).sum(dim=0) + layer.to_output.bias
    torch.testing.assert_close(whole, layer(x, x, x))
    assert layer.to_output.bias.abs().max() > 0.01


@pytest.mark.parametrize(("answer", "words"), CONTRIBUTIONS_WRONG)
def test_law_wrong_contributions_are_rejected_with_a_hint(answer, words):
    refuses(check_contributions(answer), words)


# Two pointers by hand


def draw_batch(rng, size):
    """Return queries naming two of 5 items, keys marking the items, contents of width 5, and the targets."""
    named = torch.rand(size, 5, generator=rng).argsort(-1)[:, :2]
    contents, marks = torch.randn(size, 5, 5, generator=rng), torch.eye(5)
    query, key, value = torch.zeros(size, 1, 20), torch.zeros(size, 5, 20), torch.zeros(size, 5, 20)
    query[:, 0, :10], key[..., :5], value[..., :5] = marks[named].flatten(1), marks, contents
    return query, key, value, contents[torch.arange(size)[:, None], named].reshape(size, 1, 10)


def pointers(loudness=60.0, heads=2, places=(10, 15), second=5):
    layer = MultiHeadAttention(20, heads)
    with torch.no_grad():
        for matrix in layer.parameters():
            matrix.zero_()
        for row, mark, place in ((0, 0, places[0]), (10, second, places[1])):
            layer.to_query.weight[row : row + 5, mark : mark + 5] = loudness * torch.eye(5)
            layer.to_key.weight[row : row + 5, :5] = torch.eye(5)
            layer.to_value.weight[row : row + 5, :5] = torch.eye(5)
            layer.to_output.weight[place : place + 5, row : row + 5] = torch.eye(5)
    return layer


POINTERS_WRONG = [
    (lambda: pointers(loudness=1.0), "mean squared error is"),
    (lambda: pointers(heads=1), "mean squared error is 0."),
    (lambda: pointers(places=(15, 10)), "for the first item named and 2."),  # the two answers swapped
    (lambda: pointers(second=0), "0.00 for the first item named and 2."),  # both heads read the first item
    (lambda: pointers(places=(0, 5)), "1.02 for the first item named"),  # not in the last features
    (lambda: torch.nn.Linear(10, 10), "not Linear"),
    (lambda: MultiHeadAttention(12, 2), "stopped with"),
    (empty, "still empty"),
]


def test_law_correct_pointers_pass():
    assert check_pointers(pointers, draw_batch).passed


@pytest.mark.parametrize(("answer", "words"), POINTERS_WRONG)
def test_law_wrong_pointers_are_rejected_with_a_hint(answer, words):
    refuses(check_pointers(answer, draw_batch), words)


# At least two plausible wrong answers for each exercise, read by test_wrong_answers.py

WRONG = {
    "shapes: tokens before heads": (check_shapes, SHAPES | {"queries": (2, 4, 3, 5)}),
    "shapes: heads of width d_model / num_heads": (check_shapes, SHAPES | {"heads": (2, 3, 4, 4)}),
    "split: the wanted shape at once": (check_split_heads, view_at_once),
    "split: axes not swapped": (check_split_heads, lambda x, h: x.view(*x.shape[:2], h, -1)),
    "repaired: both bugs left": (check_repaired, from_scratch(split=view_at_once, join=reshape_at_once)),
    "repaired: only the first bug": (check_repaired, from_scratch(join=reshape_at_once)),
    "from scratch: divided by the root of d_model": (
        check_multi_head,
        from_scratch(scale=lambda query, q: query.size(-1)),
    ),
    "from scratch: no output matrix": (check_multi_head, from_scratch(mix=False)),
    "errors: one minus the weight": (check_one_head_errors, lambda w: 1 - w),
    "errors: the formula for two items": (
        check_one_head_errors,
        lambda w: (1 - w) ** 2 / (w**2 + (1 - w) ** 2),
    ),
    "contributions: the output divided evenly": (
        check_contributions,
        lambda layer, x: torch.stack([layer(x, x, x) / 3] * 3),
    ),
    "contributions: the last bias in each term": (check_contributions, contributions_with_bias),
    "pointers: too quiet": (check_pointers, lambda: pointers(loudness=1.0), draw_batch),
    "pointers: both heads read the first item": (check_pointers, lambda: pointers(second=0), draw_batch),
}
