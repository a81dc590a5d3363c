"""The checks of the exercises on decoding reject wrong answers."""

import heapq
import math

import torch

from annotated_transformer.book.exercises.decoding import (
    check_alpha,
    check_beam,
    check_cached_step,
    check_exact,
    check_search_texts,
    check_top_p,
)
from tests.answers import faults


def beam(following, end, size, limit, *, narrow=True, carry=True, first=False):
    live, finished = {(): 0.0}, {}
    while live:
        grown = {
            (*prefix, token): (log_p if carry else 0.0) + more
            for prefix, log_p in live.items()
            for token, more in following(prefix).items()
        }
        kept = sorted(grown, key=grown.get, reverse=True)[: size - (len(finished) if narrow else 0)]
        live = {}
        for prefix in kept:
            done = prefix[-1] == end or len(prefix) == limit
            (finished if done else live)[prefix] = grown[prefix]
        if first and finished:
            break
    return max(finished.items(), key=lambda item: item[1])


def top_p(logits, p, *, strict=False, ordered=True):
    falling, index = logits.softmax(dim=-1).sort(dim=-1, descending=True)
    total = falling.cumsum(dim=-1)
    removed = total > p if strict else total - falling >= p
    if ordered:
        removed = removed.scatter(-1, index, removed.clone())
    return logits.masked_fill(removed, -math.inf)


def step(x, past, w_q, w_k, w_v, *, early=True, dim=-1, scale=True):
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    before = past or ((key[:0], value[:0]) if early else (key, value))
    after = (torch.cat([before[0], key]), torch.cat([before[1], value])) if past or early else before
    keys, values = after if early else before
    weights = (query @ keys.T / (math.sqrt(x.size(-1)) if scale else 1.0)).softmax(dim=dim)
    return weights @ values, after


def alpha(log_p_short, short, log_p_long, long, *, plus=5):
    return math.log(log_p_long / log_p_short) / math.log((plus + long) / (plus + short))


def exact(following, end, limit, *, finish=True):
    heap, best = [(0.0, ())], None
    while heap:
        cost, prefix = heapq.heappop(heap)
        if len(prefix) == limit or prefix[-1:] == (end,):
            best = min(best or (cost, prefix), (cost, prefix))
            if finish:
                break
            continue
        for token, log_p in following(prefix).items():
            heapq.heappush(heap, (cost - log_p, (*prefix, token)))
    return best[1], -best[0]


RIGHT = [
    (check_search_texts, ["Go on", "Come in", "No", "Come in"]),
    (check_beam, beam),
    (check_top_p, top_p),
    (check_cached_step, step),
    (check_alpha, alpha),
    (check_exact, exact),
]


WRONG = {
    "texts: greedy everywhere": (check_search_texts, ["Go on"] * 4),
    "texts: the beam keeps No": (check_search_texts, ["Go on", "No", "No", "Come in"]),
    "texts: no penalty": (check_search_texts, ["Go on", "Come in", "No", "No"]),
    "texts: three": (check_search_texts, ["Go on", "Come in", "No"]),
    "beam: finished hypotheses keep no place": (check_beam, lambda *a: beam(*a, narrow=False)),
    "beam: only the last step counts": (check_beam, lambda *a: beam(*a, carry=False)),
    "beam: the first that ends": (check_beam, lambda *a: beam(*a, first=True)),
    "beam: the mean of each token": (
        check_beam,
        lambda *a: (lambda tokens, log_p: (tokens, log_p / len(tokens)))(*beam(*a)),
    ),
    "beam: greedy": (check_beam, lambda following, end, size, limit: beam(following, end, 1, limit)),
    "top-p: too few": (check_top_p, lambda logits, p: top_p(logits, p, strict=True)),
    "top-p: sorted order": (check_top_p, lambda logits, p: top_p(logits, p, ordered=False)),
    "top-p: log-probabilities": (check_top_p, lambda logits, p: top_p(logits.log_softmax(dim=-1), p)),
    "top-p: each above p": (
        check_top_p,
        lambda logits, p: logits.masked_fill(logits.softmax(-1) < 1 - p, -math.inf),
    ),
    "cache: without itself": (check_cached_step, lambda *a: step(*a, early=False)),
    "cache: over the queries": (check_cached_step, lambda *a: step(*a, dim=0)),
    "cache: not scaled": (check_cached_step, lambda *a: step(*a, scale=False)),
    "alpha: plain length": (check_alpha, lambda *a: alpha(*a, plus=0)),
    "alpha: of the difference": (
        check_alpha,
        lambda p, short, q, long: (p - q) / math.log((5 + long) / (5 + short)),
    ),
    "exact: continues everything": (check_exact, lambda *a: exact(*a, finish=False)),
    "exact: a beam of four": (check_exact, lambda following, end, limit: beam(following, end, 4, limit)),
}


WORDS = {
    "beam: the mean of each token": "the tokens are right",
    "exact: continues everything": "is already below that of",
}


def test_law_right_answers_pass_and_wrong_ones_are_rejected_with_a_reason():
    assert faults(RIGHT, WRONG, WORDS) == []
