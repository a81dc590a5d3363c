"""The checks of chapter 3's exercises accept right answers and reject plausible mistakes."""

import math

import pytest
import torch

from annotated_transformer.book.checks.attention import (
    check_attention,
    check_debugged,
    check_gradient,
    check_predictions,
    check_scale,
    check_softmax,
    check_temperature,
)

PREDICTIONS = {
    "add 5 to every score": "unchanged",
    "double the query": "sharper",
    "halve every key": "flatter",
    "replace the values": "unchanged",
    "scale one key": "other",
}


def softmax(scores):
    exponentials = [math.exp(score - max(scores)) for score in scores]
    return [exponential / sum(exponentials) for exponential in exponentials]


def shifted(scores, by):
    try:
        exponentials = [math.exp(score - by) for score in scores]
    except OverflowError:
        return [math.nan] * len(scores)
    return [exponential / sum(exponentials) for exponential in exponentials]


def attend(query, key, value):
    return (
        torch.softmax(torch.einsum("...qd,...kd->...qk", query, key) / query.size(-1) ** 0.5, dim=-1) @ value
    )


def at_temperature(query, key, value, temperature):
    if temperature <= 0:
        raise ValueError
    return attend(query / temperature, key, value)


def derivatives(weights):
    return torch.diag(weights) - weights[:, None] * weights


RIGHT = {
    check_predictions: PREDICTIONS,
    check_softmax: softmax,
    check_attention: attend,
    check_debugged: attend,
    check_scale: lambda d_k, s, t: d_k**-0.5 / s / t,
    check_gradient: derivatives,
    check_temperature: at_temperature,
}
WRONG = {
    "predictions: a constant sharpens": (
        check_predictions,
        PREDICTIONS | {"add 5 to every score": "sharper"},
    ),
    "predictions: values enter": (check_predictions, PREDICTIONS | {"replace the values": "other"}),
    "predictions: a longer key only sharpens": (
        check_predictions,
        PREDICTIONS | {"scale one key": "sharper"},
    ),
    "predictions: one is missing": (check_predictions, {"double the query": "sharper"}),
    "softmax: overflows": (
        check_softmax,
        lambda scores: [math.exp(score) / sum(map(math.exp, scores)) for score in scores],
    ),
    "softmax: proportions": (check_softmax, lambda scores: [score / sum(scores) for score in scores]),
    "softmax: underflows": (
        check_softmax,
        lambda scores: [math.exp(s - 1000) / (sum(math.exp(t - 1000) for t in scores) or 1) for s in scores],
    ),
    "softmax: subtracts the first score": (check_softmax, lambda scores: shifted(scores, scores[0])),
    "softmax: subtracts the mean": (check_softmax, lambda scores: shifted(scores, sum(scores) / len(scores))),
    "softmax: subtracts the score farthest from 0": (
        check_softmax,
        lambda scores: shifted(scores, max(scores, key=abs)),
    ),
    "softmax: hardest only": (check_softmax, lambda scores: [float(s == max(scores)) for s in scores]),
    "from scratch: no scale": (check_attention, lambda q, k, v: (q @ k.mT).softmax(-1) @ v),
    "from scratch: 1/2 for any width": (check_attention, lambda q, k, v: (q @ k.mT / 2).softmax(-1) @ v),
    "from scratch: 1 / d_k": (check_attention, lambda q, k, v: (q @ k.mT / q.size(-1)).softmax(-1) @ v),
    "from scratch: down the columns": (check_attention, lambda q, k, v: (q @ k.mT / 2).softmax(-2) @ v),
    "from scratch: overflows": (
        check_attention,
        lambda q, k, v: (lambda e: e / e.sum(-1, keepdim=True))((q @ k.mT / 2).exp()) @ v,
    ),
    "from scratch: width 4 only in a batch": (check_attention, lambda q, k, v: attend(q[None], k[None], v)),
    "repaired: 1/2 for any width": (check_debugged, lambda q, k, v: (q @ k.mT / 2).softmax(-1) @ v),
    "repaired: only the width": (
        check_debugged,
        lambda q, k, v: (q @ k.mT / 2).softmax(1 if q.ndim == 3 else -1) @ v,
    ),
    "repaired: only the axis": (
        check_debugged,
        lambda q, k, v: (q @ k.mT / k.size(-2) ** 0.5).softmax(-1) @ v,
    ),
    "scale: the paper's": (check_scale, lambda d_k, s, t: 1 / math.sqrt(d_k)),
    "scale: variances for deviations": (check_scale, lambda d_k, s, t: 1 / math.sqrt(d_k) / s**2 / t**2),
    "scale: 1 / d_k": (check_scale, lambda d_k, s, t: 1 / (d_k * s * t)),
    "scale: ten percent off": (check_scale, lambda d_k, s, t: 1.1 / (math.sqrt(d_k) * s * t)),
    "scale: negative": (check_scale, lambda d_k, s, t: -1 / (math.sqrt(d_k) * s * t)),
    "scale: not a number": (check_scale, lambda d_k, s, t: math.nan),
    "gradient: only the diagonal": (check_gradient, lambda w: torch.diag(w * (1 - w))),
    "gradient: the sign": (check_gradient, lambda w: w[:, None] * w - torch.diag(w)),
    "gradient: of the logarithm": (check_gradient, lambda w: torch.eye(len(w)) - w.expand(len(w), -1)),
    "temperature: multiplies": (check_temperature, lambda q, k, v, t: at_temperature(q * t * t, k, v, t)),
    "temperature: 1/2 for any width": (
        check_temperature,
        lambda q, k, v, t: at_temperature(q * (q.size(-1) ** 0.5 / 2), k, v, t),
    ),
    "temperature: ignored": (
        check_temperature,
        lambda q, k, v, t: at_temperature(q, k, v, t / t if t > 0 else t),
    ),
    "temperature: after the softmax": (
        check_temperature,
        lambda q, k, v, t: at_temperature(q, k, v, 1.0) / t,
    ),
    "temperature: never colder than a tenth": (
        check_temperature,
        lambda q, k, v, t: at_temperature(q, k, v, t if t <= 0 else max(t, 0.1)),
    ),
    "temperature: the first of equal keys": (
        check_temperature,
        lambda q, k, v, t: (
            at_temperature(q, k, v, t)
            if t <= 0 or t > 1e-3
            else v.gather(1, (q @ k.mT).argmax(-1, keepdim=True).expand(-1, -1, 6))
        ),
    ),
    "temperature: a negative one is taken": (
        check_temperature,
        lambda q, k, v, t: attend(q / (t or 1), k, v),
    ),
}


@pytest.mark.parametrize(("check", "answer"), RIGHT.items())
def test_law_a_right_answer_passes(check, answer):
    assert check(answer).passed, check(answer)


@pytest.mark.parametrize(("check", "answer"), WRONG.values(), ids=WRONG)
def test_law_a_wrong_answer_is_rejected_with_an_explanation(check, answer):
    verdict = check(answer)
    assert not verdict.passed
    assert len(verdict.message.split()) > 5


@pytest.mark.parametrize(
    ("check", "answer", "words"),
    [
        (check_predictions, PREDICTIONS | {"double the query": "flatter"}, "double the query"),
        (*WRONG["repaired: only the width"], "query (2, 3, 4)"),
        (*WRONG["scale: the paper's"], "d_k=64 and standard deviations 3 and 1"),
        (*WRONG["temperature: the first of equal keys"], "five equal keys"),
        (*WRONG["temperature: a negative one is taken"], "temperature 0 should raise"),
    ],
)
def test_law_the_verdict_names_the_input_that_is_wrong(check, answer, words):
    verdict = check(answer)
    assert not verdict.passed
    assert words in verdict.message
