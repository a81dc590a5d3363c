"""What the checks of the multi-head chapter accept, and which mistakes they refuse."""

import re

import pytest
import torch

from annotated_transformer.book.checks.multi_head import (
    check_contributions,
    check_one_head_errors,
    check_pointers,
    check_split_heads,
)
from annotated_transformer.model.attention import MultiHeadAttention


def empty(*_):
    raise NotImplementedError("your turn")


def split_right(x, heads):
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


SPLIT_WRONG = [
    (lambda x, h: x.view(x.size(0), h, x.size(1), -1), "mixes the columns of several heads"),
    (lambda x, h: x.view(*x.shape[:2], -1, h).permute(0, 3, 1, 2), "every 3rd column"),
    (lambda x, h: x.view(*x.shape[:2], h, -1), "heads must come before tokens"),
    (lambda x, h: split_right(x, h)[:1], "shape"),
    (lambda x, h: split_right(x, h) + 1, "differs by"),
    (lambda x, h: x.tolist(), "should be a tensor, not list"),
    (lambda x, h: x.view(7), "stopped with RuntimeError"),
    (empty, "still empty"),
]


def test_law_right_answer_of_splitting_passes():
    assert check_split_heads(split_right).passed


@pytest.mark.parametrize(("answer", "words"), SPLIT_WRONG)
def test_law_wrong_answer_of_splitting_is_refused_with_a_hint(answer, words):
    verdict = check_split_heads(answer)
    assert not verdict.passed
    assert words in repr(verdict)


def heads_of(layer, x):
    return layer.attention(layer.project_query(x), *layer.project_memory(x, x)).unbind(1)


def contributions_right(layer, x):
    parts = layer.to_output.weight.T.chunk(layer.num_heads)
    return torch.stack([head @ part for head, part in zip(heads_of(layer, x), parts, strict=True)])


def contributions_by_damage(layer, x):
    answer = contributions_right(layer, x)
    with torch.no_grad():
        layer.to_output.weight.zero_()
    return answer


CONTRIBUTIONS_WRONG = [
    (lambda layer, x: torch.stack([layer(x, x, x) / 3] * 3), "differs by"),
    (lambda layer, x: torch.stack(heads_of(layer, x)), "has shape"),
    (lambda layer, x: contributions_right(layer, x).flip(0), "differs by"),
    (lambda layer, x: contributions_right(layer, x).sum(0), "has shape"),
    (contributions_by_damage, "changed the layer's parameters"),
    (empty, "still empty"),
]


def test_law_right_answer_of_contributions_passes():
    assert check_contributions(contributions_right).passed


@pytest.mark.parametrize(("answer", "words"), CONTRIBUTIONS_WRONG)
def test_law_wrong_answer_of_contributions_is_refused_with_a_hint(answer, words):
    verdict = check_contributions(answer)
    assert not verdict.passed
    assert words in repr(verdict)


ERRORS_WRONG = [
    (lambda w: 1 - w, "differs by"),
    (lambda w: (1 - w) ** 2, "differs by"),
    (lambda w: w.square() / w.square().sum(), "weights \\[0.2, 0.8\\] .* differs by"),  # right at ½ alone
    (lambda w: (1 - w) ** 2 / (w**2 + (1 - w) ** 2), "\\[0.5, 0.3, 0.2\\] .* differs by"),  # right for 2
    (lambda w: (1 - w.square() / w.square().sum()).mean(), "has shape"),
    (empty, "still empty"),
]


def test_law_right_answer_of_the_errors_passes():
    assert check_one_head_errors(lambda w: 1 - w**2 / (w**2).sum()).passed


@pytest.mark.parametrize(("answer", "words"), ERRORS_WRONG)
def test_law_wrong_answer_of_the_errors_is_refused_with_a_hint(answer, words):
    verdict = check_one_head_errors(answer)
    assert not verdict.passed
    assert re.search(words, repr(verdict))


def draw_batch(rng, size):
    """Return two of 5 items by name, their marks as keys, and contents of width 5."""
    named = torch.rand(size, 5, generator=rng).argsort(-1)[:, :2]
    contents, marks = torch.randn(size, 5, 5, generator=rng), torch.eye(5)
    right = torch.zeros(size, 5, 5)
    target = contents[torch.arange(size)[:, None], named]
    return (
        marks[named].reshape(size, 1, 10),
        torch.cat([marks.expand(size, 5, 5), right], dim=-1),
        torch.cat([contents, right], dim=-1),
        target.reshape(size, 1, 10),
    )


def pointers(loudness=60.0, heads=2):
    layer = MultiHeadAttention(10, heads)
    left = torch.eye(5, 10).repeat(2, 1)
    with torch.no_grad():
        layer.to_query.weight.copy_(loudness * torch.eye(10))
        layer.to_key.weight.copy_(left)
        layer.to_value.weight.copy_(left)
        layer.to_output.weight.copy_(torch.eye(10))
    return layer


POINTERS_WRONG = [
    (lambda: pointers(loudness=1.0), "mean squared error is"),
    (lambda: pointers(heads=1), "mean squared error is 0."),
    (lambda: torch.nn.Linear(10, 10), "not Linear"),
    (lambda: MultiHeadAttention(12, 2), "stopped with"),
    (empty, "still empty"),
]


def test_law_right_answer_of_the_pointers_passes():
    assert check_pointers(pointers, draw_batch).passed


@pytest.mark.parametrize(("answer", "words"), POINTERS_WRONG)
def test_law_wrong_answer_of_the_pointers_is_refused_with_a_hint(answer, words):
    verdict = check_pointers(answer, draw_batch)
    assert not verdict.passed
    assert words in repr(verdict)
