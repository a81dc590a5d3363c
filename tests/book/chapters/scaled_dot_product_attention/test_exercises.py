"""The checks of chapter 3's exercises accept right answers and reject plausible mistakes."""

import torch
import torch.nn.functional as F

from tests.solutions import Solutions

solved = Solutions("scaled_dot_product_attention")
edited = solved.edited
PREDICTIONS = {
    "add 5 to every score": "unchanged",
    "double the query": "sharper",
    "halve every key": "flatter",
    "replace the values": "unchanged",
    "scale one key": "other",
}


def divided(scores):
    return [score / sum(scores) for score in scores]


def at_temperature(query, key, value, temperature, *, scale=1.0):
    if temperature <= 0:
        raise ValueError
    return solved.attention(scale * query / temperature, key, value)


def hard_when_cold(query, key, value, temperature):
    if temperature <= 0 or temperature > 1e-3:
        return at_temperature(query, key, value, temperature)
    return value.gather(1, (query @ key.mT).argmax(-1, keepdim=True).expand(-1, -1, 6))


def by_scaled_keys(query, key, value, temperature):
    if not temperature > 0:
        raise ValueError("the temperature must be positive")
    return F.scaled_dot_product_attention(query, key / temperature, value)


RIGHT = {
    "predictions": [{change: f" {word.title()} " for change, word in PREDICTIONS.items()}],
    "debugged": [F.scaled_dot_product_attention],
    "scale": [lambda d_k, s, t: torch.tensor(d_k * s**2 * t**2).rsqrt()],
    "temperature": [at_temperature, by_scaled_keys],
}
SCALE, MAXIMUM = " / math.sqrt(key.size(-1))", "(scores - scores.amax(dim=-1, keepdim=True))"
WRONG = {
    "predictions": [
        ("By what are all exponentials multiplied then?", PREDICTIONS | {"add 5 to every score": "sharper"}),
        ("From what are the weights computed?", PREDICTIONS | {"replace the values": "other"}),
        ("Which score is the largest afterwards?", PREDICTIONS | {"scale one key": "sharper"}),
        ("there is no prediction for 'add 5 to every score', 'halve", {"double the query": "sharper"}),
    ],
    "softmax": [
        ("too large for a float", edited("softmax", "score - largest", "score")),
        ("the scores are divided by their sum, without exponentials", divided),
    ],
    "attention": [
        ("the scores are not divided by √d_k", edited("attention", SCALE, "")),
        ("an axis was added", lambda q, k, v: solved.attention(q[None], k[None], v)),
        ("scores in the thousands give NaN or infinity:", edited("attention", MAXIMUM, "scores")),
        ("scores beyond 10 are cut off", edited("attention", MAXIMUM, "scores.clamp(-50, 50)")),
    ],
    "debugged": [
        ("divided by √4, whatever the width", edited("repaired", "math.sqrt(key.size(-1))", "2")),
        (
            "the softmax runs over the queries instead of the keys",
            edited("repaired", "math.sqrt(key.size(-1))", "2", "dim=-1", "dim=1 if query.ndim == 3 else -1"),
        ),
    ],
    "scale": [
        ("d_k=64 and standard deviations 3 and 1", edited("scale", " * query_std * key_std", "")),
        ("for d_k=64 and standard deviations 1 and 1", lambda *given: -solved.scale(*given)),
    ],
    "gradient": [
        ("only the entries on the diagonal are filled", lambda w: torch.diag(w * (1 - w))),
        ("the sign is reversed", lambda w: -solved.softmax_derivatives(w)),
    ],
    "temperature": [
        ("multiplied by the temperature", lambda *given: at_temperature(*given, scale=given[3] ** 2)),
        (
            "the temperature is never below 0.1",
            lambda q, k, v, t: at_temperature(q, k, v, t if t <= 0 else max(t, 0.1)),
        ),
        ("but not by √d_k", lambda *given: at_temperature(*given, scale=given[0].size(-1) ** 0.5)),
        ("the temperature is never above 100", lambda q, k, v, t: at_temperature(q, k, v, min(t, 100))),
        ("the first of several equal keys gets all the weight", hard_when_cold),
        ("temperature 0 should raise", lambda q, k, v, t: solved.attention(q / (t or 1), k, v)),
        (
            "temperature -1 should raise",
            lambda q, k, v, t: solved.attention(q / t, k, v) if t < 0 else at_temperature(q, k, v, t),
        ),
    ],
}
