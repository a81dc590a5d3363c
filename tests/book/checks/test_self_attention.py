"""The checks of the exercises on self-attention reject wrong answers."""

import math

import pytest
import torch

from annotated_transformer.book.checks.self_attention import (
    SIZES,
    check_circle,
    check_pronouns,
    check_self_attention,
    check_sizes,
    check_two_sums,
    check_weight_ratio,
)
from annotated_transformer.model.self_attention import SelfAttention
from annotated_transformer.text.toy.pronouns import PRONOUN_FEATURES
from tests.answers import assert_refused_as_empty, unanswered

FEATURE = PRONOUN_FEATURES.index


def self_attention(x, w_query, w_key, w_value, *, scale=None, dim=-1):
    scores = (x @ w_query) @ (x @ w_key).mT / (scale or math.sqrt(w_query.size(1)))
    return scores.softmax(dim=dim) @ (x @ w_value)


def plain(x, *, dim=2, sums="bij,bjk->bik"):
    return torch.einsum(sums, torch.einsum("bik,bjk->bij", x, x).softmax(dim=dim), x)


def ratio(asking, first, second, w_query, w_key, *, scaled=True):
    score = (asking @ w_query) @ ((first - second) @ w_key)
    return math.exp(score / (math.sqrt(w_key.size(1)) if scaled else 1))


def ratio_of_scores(asking, first, second, w_query, w_key):
    query = asking @ w_query
    return (query @ (first @ w_key)) / (query @ (second @ w_key))


def circle(*, scale=10.0, back=False):
    return scale * torch.eye(3), torch.eye(3).roll(-1 if back else 1, dims=0)


def two_layers(*, adjective="hungry tasty", roles=("subject", "object"), scale=30.0):
    first, second = SelfAttention(14, 1, 14), SelfAttention(14, 2, 14)
    with torch.no_grad():
        for parameter in (*first.parameters(), *second.parameters()):
            parameter.zero_()
        first.to_query.weight[0, FEATURE("it")] = scale
        for place, (word, role) in enumerate(zip(("hungry", "tasty"), roles, strict=True)):
            if word in adjective:
                first.to_key.weight[0, FEATURE(word)] = 1
                first.to_value.weight[FEATURE(word), FEATURE(word)] = 1
            second.to_query.weight[place, FEATURE(word)] = scale
            second.to_key.weight[place, FEATURE(role)] = 1
        second.to_value.weight[:6, :6] = torch.eye(6)
    return first, second


RIGHT = {
    check_sizes: dict(SIZES),
    check_self_attention: self_attention,
    check_two_sums: plain,
    check_weight_ratio: ratio,
    check_circle: circle,
    check_pronouns: two_layers,
}


@pytest.mark.parametrize(("check", "answer"), RIGHT.items())
def test_law_the_right_answer_passes(check, answer):
    assert check(answer).passed, repr(check(answer))


WRONG = {
    "sizes: weights of the batch": (check_sizes, SIZES | {"weights": (2, 2, 7)}),
    "sizes: as wide as the model": (check_sizes, SIZES | {"output": (2, 7, 512)}),
    "sizes: square matrices": (check_sizes, SIZES | {"parameters": 3 * 512 * 512}),
    "sizes: more words, more parameters": (check_sizes, SIZES | {"parameters for 14 words": 163_840}),
    "sizes: empty": (check_sizes, SIZES | {"query": ...}),
    "scratch: not scaled": (check_self_attention, lambda *inputs: self_attention(*inputs, scale=1.0)),
    "scratch: over the queries": (check_self_attention, lambda *inputs: self_attention(*inputs, dim=-2)),
    "scratch: over the batch": (check_self_attention, lambda *inputs: self_attention(*inputs, dim=0)),
    "scratch: one matrix for queries and keys": (
        check_self_attention,
        lambda x, w_query, w_key, w_value: self_attention(x, w_query, w_query, w_value),
    ),
    "scratch: scaled by the model's width": (
        check_self_attention,
        lambda *inputs: self_attention(*inputs, scale=math.sqrt(6)),
    ),
    "debug: columns sum to 1": (check_two_sums, lambda x: plain(x, dim=1)),
    "debug: sums its own vector": (check_two_sums, lambda x: plain(x, sums="bij,bik->bik")),
    "debug: both": (check_two_sums, lambda x: plain(x, dim=1, sums="bij,bik->bik")),
    "debug: transposed weights": (check_two_sums, lambda x: plain(x, sums="bji,bjk->bik")),
    "ratio: of the scores": (check_weight_ratio, ratio_of_scores),
    "ratio: not scaled": (check_weight_ratio, lambda *inputs: ratio(*inputs, scaled=False)),
    "ratio: upside down": (check_weight_ratio, lambda *inputs: 1 / ratio(*inputs)),
    "circle: one matrix": (check_circle, lambda: (10 * torch.eye(3), 10 * torch.eye(3))),
    "circle: the other way round": (check_circle, lambda: circle(back=True)),
    "circle: too flat": (check_circle, lambda: circle(scale=2.0)),
    "layers: always the subject": (check_pronouns, lambda: two_layers(roles=("subject", "subject"))),
    "layers: exchanged": (check_pronouns, lambda: two_layers(roles=("object", "subject"))),
    "layers: reads hungry only": (check_pronouns, lambda: two_layers(adjective="hungry")),
    "layers: undecided": (check_pronouns, lambda: two_layers(scale=0.0)),
    "layers: one layer": (check_pronouns, lambda: two_layers()[:1]),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_law_a_wrong_answer_is_rejected_with_an_explanation(case):
    check, wrong = case
    verdict = check(wrong)
    assert not verdict.passed
    assert len(verdict.message.split()) > 5 or "return two layers" in verdict.message


def test_law_an_empty_answer_is_reported_as_empty():
    for check in RIGHT:
        assert_refused_as_empty(check, {} if check is check_sizes else unanswered)


def test_law_the_verdict_names_the_pair_that_fails():
    check, wrong = WRONG["circle: one matrix"]
    assert "rock gives scissors a weight of 0.00" in check(wrong).message
    check, wrong = WRONG["layers: always the subject"]
    assert '"fox chased hen because it was tasty"' in check(wrong).message
