"""The checks of chapter 3's exercises accept right answers and reject plausible mistakes."""

import math

import torch
import torch.nn.functional as F

from annotated_transformer.book.chapters.scaled_dot_product_attention.exercises import (
    check_attention,
    check_debugged,
    check_gradient,
    check_predictions,
    check_scale,
    check_softmax,
    check_temperature,
)
from tests.answers import faults

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


def attend(query, key, value):
    return (
        torch.softmax(torch.einsum("...qd,...kd->...qk", query, key) / query.size(-1) ** 0.5, dim=-1) @ value
    )


def normalized(raised):
    return raised / raised.sum(dim=-1, keepdim=True)


def weighted(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(key.size(-1))
    return normalized((scores - scores.amax(dim=-1, keepdim=True)).exp()) @ value


def at_temperature(query, key, value, temperature):
    if temperature <= 0:
        raise ValueError
    return attend(query / temperature, key, value)


def derivatives(weights):
    return torch.diag(weights) - weights[:, None] * weights


def softmax_by_logarithms(scores):
    top = max(scores)
    total = math.log(math.fsum(math.exp(score - top) for score in scores))
    return [math.exp(score - top - total) for score in scores]


def attend_by_exponentials(query, key, value):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    return torch.exp(scores - scores.logsumexp(dim=-1, keepdim=True)) @ value


def by_scaled_keys(query, key, value, temperature):
    if not temperature > 0:
        raise ValueError("the temperature must be positive")
    return F.scaled_dot_product_attention(query, key / temperature, value)


RIGHT = [
    (check_predictions, PREDICTIONS),
    (check_softmax, softmax),
    (check_attention, weighted),
    (check_debugged, attend),
    (check_scale, lambda d_k, s, t: d_k**-0.5 / s / t),
    (check_gradient, derivatives),
    (check_temperature, at_temperature),
    # the same, written differently
    (check_predictions, {change: f" {word.title()} " for change, word in PREDICTIONS.items()}),
    (check_softmax, softmax_by_logarithms),
    (check_attention, attend_by_exponentials),
    (check_debugged, F.scaled_dot_product_attention),
    (check_scale, lambda d_k, s, t: torch.tensor(d_k * s**2 * t**2).rsqrt()),
    (check_gradient, lambda w: torch.eye(len(w), dtype=w.dtype) * w - torch.outer(w, w)),
    (check_temperature, by_scaled_keys),
]
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
    "from scratch: no scale": (check_attention, lambda q, k, v: weighted(q * q.size(-1) ** 0.5, k, v)),
    "from scratch: width 4 only in a batch": (check_attention, lambda q, k, v: weighted(q[None], k[None], v)),
    "from scratch: overflows": (
        check_attention,
        lambda q, k, v: normalized((q @ k.mT * q.size(-1) ** -0.5).exp()) @ v,
    ),
    "from scratch: large scores are cut off": (
        check_attention,
        lambda q, k, v: normalized((q @ k.mT * q.size(-1) ** -0.5).clamp(-50, 50).exp()) @ v,
    ),
    "repaired: 1/2 for any width": (check_debugged, lambda q, k, v: (q @ k.mT / 2).softmax(-1) @ v),
    "repaired: only the width": (
        check_debugged,
        lambda q, k, v: (q @ k.mT / 2).softmax(1 if q.ndim == 3 else -1) @ v,
    ),
    "scale: the paper's": (check_scale, lambda d_k, s, t: 1 / math.sqrt(d_k)),
    "scale: negative": (check_scale, lambda d_k, s, t: -1 / (math.sqrt(d_k) * s * t)),
    "gradient: only the diagonal": (check_gradient, lambda w: torch.diag(w * (1 - w))),
    "gradient: the sign": (check_gradient, lambda w: w[:, None] * w - torch.diag(w)),
    "temperature: multiplies": (check_temperature, lambda q, k, v, t: at_temperature(q * t * t, k, v, t)),
    "temperature: never colder than a tenth": (
        check_temperature,
        lambda q, k, v, t: at_temperature(q, k, v, t if t <= 0 else max(t, 0.1)),
    ),
    "temperature: no scale": (
        check_temperature,
        lambda q, k, v, t: at_temperature(q * q.size(-1) ** 0.5, k, v, t),
    ),
    "temperature: never hotter than a hundred": (
        check_temperature,
        lambda q, k, v, t: at_temperature(q, k, v, min(t, 100)),
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
    "temperature: only 0 is refused": (
        check_temperature,
        lambda q, k, v, t: attend(q / t, k, v) if t < 0 else at_temperature(q, k, v, t),
    ),
}


WORDS = {
    "predictions: a constant sharpens": "By what are all exponentials multiplied then?",
    "predictions: values enter": "From what are the weights computed?",
    "predictions: a longer key only sharpens": "Which score is the largest afterwards?",
    "predictions: one is missing": "there is no prediction for 'add 5 to every score', 'halve",
    "softmax: overflows": "the exponential of a large score is too large for a float",
    "softmax: proportions": "the scores are divided by their sum, without exponentials",
    "from scratch: no scale": "the scores are not divided by √d_k",
    "from scratch: width 4 only in a batch": "an axis was added that the inputs do not have",
    "from scratch: overflows": "scores in the thousands give NaN or infinity:",
    "from scratch: large scores are cut off": "scores beyond 10 are cut off",
    "repaired: 1/2 for any width": "the scores are divided by √4, whatever the width",
    "repaired: only the width": "the softmax runs over the queries instead of the keys",
    "scale: the paper's": "d_k=64 and standard deviations 3 and 1",
    "scale: negative": "for d_k=64 and standard deviations 1 and 1, the factor is",
    "gradient: only the diagonal": "only the entries on the diagonal are filled",
    "gradient: the sign": "the sign is reversed",
    "temperature: multiplies": "the scores are multiplied by the temperature",
    "temperature: never colder than a tenth": "the temperature is never below 0.1",
    "temperature: no scale": "the scores are divided by the temperature, but not by √d_k",
    "temperature: never hotter than a hundred": "the temperature is never above 100",
    "temperature: the first of equal keys": "the first of several equal keys gets all the weight",
    "temperature: a negative one is taken": "temperature 0 should raise",
    "temperature: only 0 is refused": "temperature -1 should raise",
}


def test_law_right_answers_pass_and_wrong_ones_are_rejected_with_a_reason():
    assert faults(RIGHT, WRONG, WORDS) == []
