"""The checks of the exercises on decoding reject wrong answers."""

import heapq
import math

import torch

from annotated_transformer.book.chapters.decoding.exercises import (
    check_alpha,
    check_beam,
    check_cached_step,
    check_exact,
    check_search_texts,
    check_top_p,
)


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


def beam_of_lists(following, end, size, limit, *, lasting=True):
    """Keep finished hypotheses in the beam, where they are not continued."""
    kept = [(0.0, ())]
    while any(prefix[-1:] != (end,) and len(prefix) < limit for _, prefix in kept):
        grown = []
        for log_p, prefix in kept:
            if prefix[-1:] == (end,) or len(prefix) == limit:
                grown.append((math.inf if lasting else log_p, log_p, prefix))  # its place is for good
            else:
                for token, more in following(prefix).items():
                    grown.append((log_p + more, log_p + more, (*prefix, token)))
        kept = [(log_p, prefix) for _, log_p, prefix in sorted(grown, reverse=True)[:size]]
    log_p, prefix = max(kept)
    return [list(prefix), torch.tensor(log_p, dtype=torch.float64)]


def top_p_by_rows(logits, p):
    result = torch.full_like(logits, -math.inf)
    for row, new in zip(logits, result, strict=True):
        total = 0.0
        for token in row.argsort(descending=True).tolist():
            if total >= p:
                break
            new[token], total = row[token], total + row.softmax(0)[token].item()
    return result


def step_in_a_dictionary(x, past, w_q, w_k, w_v):
    past = past or {"keys": [], "values": []}
    past["keys"].append(x @ w_k)
    past["values"].append(x @ w_v)
    keys, values = torch.cat(past["keys"]), torch.cat(past["values"])
    return torch.softmax(keys @ (x @ w_q)[0] * x.size(1) ** -0.5, dim=0)[None] @ values, past


def exact_by_list(following, end, limit):
    open_ends = {(): 0.0}
    while True:
        best = max(open_ends, key=open_ends.get)
        log_p = open_ends.pop(best)
        if best[-1:] == (end,) or len(best) == limit:
            return [*best], log_p
        open_ends |= {(*best, token): log_p + more for token, more in following(best).items()}


RIGHT = {
    check_search_texts: [["Go on", "Come in", "No", "Come in"], (("Go on ", "Come in", "No", "Come in"),)],
    check_beam: [beam, beam_of_lists],
    check_top_p: [top_p, top_p_by_rows],
    check_cached_step: [step, step_in_a_dictionary],
    check_alpha: [
        alpha,
        lambda p, short, q, long: (math.log(-q) - math.log(-p)) / (math.log(5 + long) - math.log(5 + short)),
    ],
    check_exact: [exact, exact_by_list],
}


WRONG = {
    check_search_texts: [
        ("It keeps the two most likely first words, and multiplies", ["Go on"] * 4),
        ("It keeps the two most likely first words, and multiplies", ["Go on", "No", "No", "Come in"]),
        ("Divide the logarithm by the number of tokens, with the", ["Go on", "Come in", "No", "No"]),
        ("greedy, beam of 2, exhaustive, and exhaustive with the mean", ["Go on", "Come in", "No"]),
    ],
    check_beam: [
        ("or your beam kept its full size", lambda *a: beam(*a, narrow=False)),
        ("lost its place: likelier prefixes took it", lambda *a: beam_of_lists(*a, lasting=False)),
        ("only the last step counts", lambda *a: beam(*a, carry=False)),
        ("the search ended when the first hypothesis was finished", lambda *a: beam(*a, first=True)),
        (
            "the log-probability is divided by the number of tokens",
            lambda *a: (lambda tokens, log_p: (tokens, log_p / len(tokens)))(*beam(*a)),
        ),
        (
            "the beam keeps one prefix, whatever its size",
            lambda following, end, size, limit: beam(following, end, 1, limit),
        ),
    ],
    check_top_p: [
        (
            "the token with which the sum reaches p is dropped",
            lambda logits, p: top_p(logits, p, strict=True),
        ),
        (
            "the tokens are chosen in sorted order and not brought",
            lambda logits, p: top_p(logits, p, ordered=False),
        ),
        ("these are log-probabilities", lambda logits, p: top_p(logits.log_softmax(dim=-1), p)),
        (
            "each token is judged alone",
            lambda logits, p: logits.masked_fill(logits.softmax(-1) < 1 - p, -math.inf),
        ),
    ],
    check_cached_step: [
        ("the new key comes after the attention, so the token does", lambda *a: step(*a, early=False)),
        ("the softmax runs over the queries, of which there is one", lambda *a: step(*a, dim=0)),
        ("the scores are not divided by √d_k", lambda *a: step(*a, scale=False)),
    ],
    check_alpha: [
        ("the lengths are compared without GNMT's 5 + length", lambda *a: alpha(*a, plus=0)),
        (
            "log-probabilities are subtracted",
            lambda p, short, q, long: (p - q) / math.log((5 + long) / (5 + short)),
        ),
    ],
    check_exact: [
        ("the result is right, but you continued (5,), whose", lambda *a: exact(*a, finish=False)),
        (
            "the result is right, but you continued (5,), whose",
            lambda following, end, limit: beam(following, end, 4, limit),
        ),
    ],
}
