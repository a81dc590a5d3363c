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


RIGHT = {
    check_predictions: [PREDICTIONS, {change: f" {word.title()} " for change, word in PREDICTIONS.items()}],
    check_softmax: [softmax, softmax_by_logarithms],
    check_attention: [weighted, attend_by_exponentials],
    check_debugged: [attend, F.scaled_dot_product_attention],
    check_scale: [
        lambda d_k, s, t: d_k**-0.5 / s / t,
        lambda d_k, s, t: torch.tensor(d_k * s**2 * t**2).rsqrt(),
    ],
    check_gradient: [derivatives, lambda w: torch.eye(len(w), dtype=w.dtype) * w - torch.outer(w, w)],
    check_temperature: [at_temperature, by_scaled_keys],
}
WRONG = {
    check_predictions: [
        ("By what are all exponentials multiplied then?", PREDICTIONS | {"add 5 to every score": "sharper"}),
        ("From what are the weights computed?", PREDICTIONS | {"replace the values": "other"}),
        ("Which score is the largest afterwards?", PREDICTIONS | {"scale one key": "sharper"}),
        ("there is no prediction for 'add 5 to every score', 'halve", {"double the query": "sharper"}),
    ],
    check_softmax: [
        (
            "the exponential of a large score is too large for a float",
            lambda scores: [math.exp(score) / sum(map(math.exp, scores)) for score in scores],
        ),
        (
            "the scores are divided by their sum, without exponentials",
            lambda scores: [score / sum(scores) for score in scores],
        ),
    ],
    check_attention: [
        ("the scores are not divided by √d_k", lambda q, k, v: weighted(q * q.size(-1) ** 0.5, k, v)),
        ("an axis was added that the inputs do not have", lambda q, k, v: weighted(q[None], k[None], v)),
        (
            "scores in the thousands give NaN or infinity:",
            lambda q, k, v: normalized((q @ k.mT * q.size(-1) ** -0.5).exp()) @ v,
        ),
        (
            "scores beyond 10 are cut off",
            lambda q, k, v: normalized((q @ k.mT * q.size(-1) ** -0.5).clamp(-50, 50).exp()) @ v,
        ),
    ],
    check_debugged: [
        ("the scores are divided by √4, whatever the width", lambda q, k, v: (q @ k.mT / 2).softmax(-1) @ v),
        (
            "the softmax runs over the queries instead of the keys",
            lambda q, k, v: (q @ k.mT / 2).softmax(1 if q.ndim == 3 else -1) @ v,
        ),
    ],
    check_scale: [
        ("d_k=64 and standard deviations 3 and 1", lambda d_k, s, t: 1 / math.sqrt(d_k)),
        (
            "for d_k=64 and standard deviations 1 and 1, the factor is",
            lambda d_k, s, t: -1 / (math.sqrt(d_k) * s * t),
        ),
    ],
    check_gradient: [
        ("only the entries on the diagonal are filled", lambda w: torch.diag(w * (1 - w))),
        ("the sign is reversed", lambda w: w[:, None] * w - torch.diag(w)),
    ],
    check_temperature: [
        (
            "the scores are multiplied by the temperature",
            lambda q, k, v, t: at_temperature(q * t * t, k, v, t),
        ),
        (
            "the temperature is never below 0.1",
            lambda q, k, v, t: at_temperature(q, k, v, t if t <= 0 else max(t, 0.1)),
        ),
        (
            "the scores are divided by the temperature, but not by √d_k",
            lambda q, k, v, t: at_temperature(q * q.size(-1) ** 0.5, k, v, t),
        ),
        ("the temperature is never above 100", lambda q, k, v, t: at_temperature(q, k, v, min(t, 100))),
        (
            "the first of several equal keys gets all the weight",
            lambda q, k, v, t: (
                at_temperature(q, k, v, t)
                if t <= 0 or t > 1e-3
                else v.gather(1, (q @ k.mT).argmax(-1, keepdim=True).expand(-1, -1, 6))
            ),
        ),
        ("temperature 0 should raise", lambda q, k, v, t: attend(q / (t or 1), k, v)),
        (
            "temperature -1 should raise",
            lambda q, k, v, t: attend(q / t, k, v) if t < 0 else at_temperature(q, k, v, t),
        ),
    ],
}
