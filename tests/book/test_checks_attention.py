"""The judges of the attention chapter's exercises: right answers pass, likely mistakes do not."""

import math

import torch

from annotated_transformer.book.checks.attention import check_scale, check_softmax, check_temperature
from annotated_transformer.model.attention import attention_weights


def softmax(scores):
    exponentials = [math.exp(score - max(scores)) for score in scores]
    return [exponential / sum(exponentials) for exponential in exponentials]


def softmax_that_overflows(scores):
    return [math.exp(score) / sum(map(math.exp, scores)) for score in scores]


def proportions(scores):
    return [score / sum(scores) for score in scores]


def test_softmax_must_survive_large_scores():
    assert check_softmax(softmax).passed
    assert "OverflowError" in check_softmax(softmax_that_overflows).message
    assert not check_softmax(proportions).passed


def test_temperature_divides_and_does_not_multiply():
    assert check_temperature(lambda query, key, t: attention_weights(query / t, key)).passed
    assert (
        "temperature 5" in check_temperature(lambda query, key, t: attention_weights(query * t, key)).message
    )
    assert "temperature 5" in check_temperature(lambda query, key, t: attention_weights(query, key)).message
    divided_after = check_temperature(lambda query, key, t: attention_weights(query, key) / t)
    assert "temperature 5" in divided_after.message


def test_scale_counts_the_width_and_both_deviations():
    assert check_scale(lambda d_k, s, t: 1 / (math.sqrt(d_k) * s * t)).passed
    assert "variance" in check_scale(lambda d_k, s, t: 1 / d_k).message
    assert "variance" in check_scale(lambda d_k, s, t: 1 / math.sqrt(d_k)).message
    assert not check_scale(lambda d_k, s, t: torch.nan).passed
