"""The checks of the masking exercises accept the right answer, and no wrong one."""

import pytest
import torch
from torch import Tensor

from annotated_transformer.book.checks.masking import (
    check_local_mask,
    check_packed_mask,
    check_prefix_mask,
    check_reads,
)


def distance(tokens: int) -> Tensor:
    position = torch.arange(tokens)
    return position[:, None] - position  # how far the key lies behind the query


def local(tokens: int, window: int) -> Tensor:
    return (distance(tokens) >= 0) & (distance(tokens) < window)


def prefix(tokens: int, prefix: int) -> Tensor:
    return (distance(tokens) >= 0) | (torch.arange(tokens) < prefix)


def same(sentence: Tensor) -> Tensor:
    return sentence[:, None] == sentence


def packed(sentence: Tensor) -> Tensor:
    return same(sentence) & (distance(len(sentence)) >= 0)


def reads(layer, x: Tensor) -> Tensor:
    gradient = torch.autograd.functional.jacobian(layer, x)  # (queries, features, keys, features)
    return gradient.abs().sum(dim=(1, 3)) > 0


def reads_the_sum(layer, x: Tensor) -> Tensor:
    """Add the features before asking: influences of opposite signs vanish."""
    return torch.autograd.functional.jacobian(lambda x: layer(x).sum(dim=-1), x).abs().sum(dim=-1) > 0


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (check_local_mask, local),
        (check_prefix_mask, prefix),
        (check_packed_mask, packed),
        (check_reads, reads),
    ],
)
def test_law_the_right_answer_passes(check, answer):
    assert check(answer).passed, repr(check(answer))


WRONG = {
    "local: shifted by one": (check_local_mask, lambda n, w: local(n, w + 1)),
    "local: inverted": (check_local_mask, lambda n, w: ~local(n, w)),
    "local: without itself": (check_local_mask, lambda n, w: local(n, w + 1) & (distance(n) > 0)),
    "local: both sides": (check_local_mask, lambda n, w: distance(n).abs() < w),
    "local: integers": (check_local_mask, lambda n, w: local(n, w).long()),
    "local: keys for queries": (check_local_mask, lambda n, w: local(n, w).T),
    "local: a dimension too many": (check_local_mask, lambda n, w: local(n, w)[None]),
    "local: a list": (check_local_mask, lambda n, w: local(n, w).tolist()),
    "local: one size only": (check_local_mask, lambda n, w: local(7, 3)),
    "prefix: shifted by one": (check_prefix_mask, lambda n, p: prefix(n, p + 1)),
    "prefix: inverted": (check_prefix_mask, lambda n, p: ~prefix(n, p)),
    "prefix: plain causal": (check_prefix_mask, lambda n, p: distance(n) >= 0),
    "prefix: forgotten later": (check_prefix_mask, lambda n, p: same(torch.arange(n) < p) & prefix(n, p)),
    "prefix: keys for queries": (check_prefix_mask, lambda n, p: prefix(n, p).T),
    "packed: inverted": (check_packed_mask, lambda s: ~packed(s)),
    "packed: not causal": (check_packed_mask, same),
    "packed: as one sentence": (check_packed_mask, lambda s: distance(len(s)) >= 0),
    "packed: shifted by one": (check_packed_mask, lambda s: same(s) & (distance(len(s)) >= 1)),
    "packed: looks ahead": (check_packed_mask, lambda s: same(s) & (distance(len(s)) <= 0)),
    "reads: features that cancel": (check_reads, reads_the_sum),
    "reads: inverted": (check_reads, lambda layer, x: ~reads(layer, x)),
    "reads: keys for queries": (check_reads, lambda layer, x: reads(layer, x).T),
    "reads: always causal": (check_reads, lambda layer, x: distance(len(x)) >= 0),
    "reads: always everything": (check_reads, lambda layer, x: distance(len(x)) >= -len(x)),
    "reads: nothing": (check_reads, lambda layer, x: None),
}


@pytest.mark.parametrize(("check", "wrong"), WRONG.values(), ids=WRONG)
def test_law_a_wrong_answer_fails_with_a_sentence(check, wrong):
    verdict = check(wrong)
    assert not verdict.passed
    assert len(verdict.message.split()) > 5


def test_law_an_empty_answer_fails_politely():
    def stub(*_: object) -> Tensor:
        raise NotImplementedError("your turn")

    for check in (check_local_mask, check_prefix_mask, check_packed_mask, check_reads):
        assert "still empty" in check(stub).message


def test_law_the_verdict_names_the_pair_that_is_wrong():
    verdict = check_local_mask(lambda n, w: local(n, w + 1))
    assert "query 3 may not attend to key 0" in verdict.message
